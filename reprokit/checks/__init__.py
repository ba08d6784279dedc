"""The checklist's rows, one file each: evidence in, one row out.

To add a row, add a file: its name is the row's id, and it has what ``core.rows.Check`` asks for. What the
rows add up to is decided in ``core.checklist``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from reprokit import extras
from reprokit.core.evidence import Evidence
from reprokit.core.records import canonical_json
from reprokit.core.verdicts import idle_patterns, same_under
from reprokit.core.verdicts.rows import (
    VERDICT_ROWS,
    Check,
    CheckResult,
    Finding,
    Status,
    listed,
    not_applicable,
    relaxations,
    requirements,
    says,
    unjudged,
)
from reprokit.errors import MissingExtraError
from reprokit.extensions.rows import foreign_rows
from reprokit.plugin_files import PluginFolder, load

__all__ = ["discover", "of_every_strict_report", "registry", "run_all"]

_SHOWN = 8
_LISTED = 100  # files, in the evidence of a row
_STOPPED = "the runs were stopped at the first difference from the golden, so this was not judged"
_LET_IT_END = "let them end: `reprokit reproduce`, or `reprokit verify --no-watch-golden`"
_MALFORMED = "recipe_checks"
_WRITE_RECIPE = "write one: `reprokit help bring-your-own-program`"
_WATCH_IT = "declare `instrument: light`, which watches it from outside: `reprokit help watch-a-program`"
_WRITE_TRAINER = "write it as a trainer: `reprokit help bring-your-own-program`"
_REPORT_IT = "this is a fault of the check itself: report it, or repair its file under reprokit/checks"


def run_all(evidence: Evidence, *, checks: Sequence[Check] | None = None) -> tuple[CheckResult, ...]:
    """Judge every row once, in the checklist's order; ``checks`` None for every file of this folder.

    Then come a row for each metric that was left out on request, for each such request that left out none,
    and one if the recipe relaxes or requires rows in a way that means nothing; last those of extensions.

    Raises:
        CannotJudgeError: A file of the folder is not a check.
    """
    judged = discover() if checks is None else checks
    rows = [_row(check, evidence) for check in judged]
    left_out = (
        *idle_patterns.volatile(evidence),
        *idle_patterns.printed(evidence),
        *_ignored(evidence),
        *_outputs(evidence),
        *_left(evidence),
        *_printed_failures(evidence),
    )
    return (
        *rows,
        *same_under.rows(evidence),
        *left_out,
        *_malformed(evidence, {check.ID for check in judged}),
        *(foreign_rows(evidence) if checks is None else ()),
    )


def registry() -> dict[str, bool]:
    """Every row that a checklist must have, in order: id → whether it is advisory."""
    return {check.ID: check.ADVISORY for check in discover()}


def of_every_strict_report() -> frozenset[str]:
    """Advisory rows that ``--strict`` requires, whatever else was requested."""
    return frozenset(check.ID for check in discover() if check.ADVISORY and not says(check, "ON_REQUEST"))


def discover(path: Iterable[str] | None = None, *, package: str = __name__) -> tuple[Check, ...]:
    """The modules of this folder, by their ORDER.

    Raises:
        CannotJudgeError: One cannot be imported, is not a check, or takes another one's place.
    """
    folder = PluginFolder(
        package=package, kind="check", protocol=Check, guide="`reprokit help checks`", file_name="ID"
    )
    return tuple(module for _, module in load(folder, __path__ if path is None else path))


def _row(check: Check, evidence: Evidence) -> CheckResult:
    finding = _judged(check, evidence)
    because = relaxations(evidence.recipe).get(check.ID)
    if because is not None:
        required = False
    elif check.ID in requirements(evidence.recipe):
        required = True
    else:
        required = finding.applies and (evidence.strict or not check.ADVISORY)
    name = (evidence.recipe or {}).get("name")
    reason = finding.reason if because is None else f"relaxed by the recipe ({because}): {finding.reason}"
    return CheckResult(
        id=check.ID,
        title=check.TITLE,
        status=finding.status,
        reason=reason,
        remedy=re.sub(r"\bRECIPE\b", name, finding.remedy) if isinstance(name, str) else finding.remedy,
        evidence=finding.evidence,
        required=required,
    )


def _judged(check: Check, evidence: Evidence) -> Finding:
    if evidence.recipe is None and check.NEEDS_RECIPE:
        return not_applicable("a plain command has no recipe to judge", _WRITE_RECIPE)
    if "command" in (evidence.recipe or {}):
        if says(check, "NEEDS_TRAINER"):
            return not_applicable("the program is unmodified; its settings are its own", _WRITE_TRAINER)
        if says(check, "NEEDS_WATCH") and not (evidence.recipe or {}).get("instrument"):
            return not_applicable("the program is unmodified, and nothing looked inside it", _WATCH_IT)
    key = says(check, "DECLARED_BY")
    if key is not None and _is_undeclared(evidence, key, asked_by=says(check, "ASKED_BY")):
        return not_applicable(
            "the program is unmodified and the recipe does not declare this", f"declare `{key}`"
        )
    return _found(check, evidence)


def _found(check: Check, evidence: Evidence) -> Finding:
    """What a check says, if it is a finding; that it cannot be judged where it fails."""
    if lacking := evidence.missing_extras.get(check.ID):
        return unjudged(*lacking)
    try:
        finding = _of_stopped(check, evidence) or check.check(evidence)
        fault = _fault(finding)
    except (Exception, SystemExit) as error:  # the one boundary: here nothing may pass, nor end the tool
        missing = error if isinstance(error, MissingExtraError) else extras.explained(error)
        if missing is not None:
            return unjudged(missing.what, missing.fix or _REPORT_IT)
        return unjudged(f"the check is faulty: {type(error).__name__}: {error}", _REPORT_IT)
    return unjudged(f"the check is faulty: {fault}", _REPORT_IT) if fault else finding


def _of_stopped(check: Check, evidence: Evidence) -> Finding | None:
    """What a row says that needs whole runs, of runs that were stopped at the golden."""
    if evidence.stopped_at_golden and says(check, "NEEDS_WHOLE_RUNS"):
        return not_applicable(_STOPPED, _LET_IT_END)
    return None


def _is_undeclared(evidence: Evidence, key: str, *, asked_by: str | None) -> bool:
    """Whether a recipe of a command leaves out the key that a row needs, and no one asked for the row."""
    recipe = evidence.recipe or {}
    asked = None if asked_by is None else getattr(evidence, asked_by)
    return "command" in recipe and not recipe.get(key) and asked is None


def _fault(finding: object) -> str:
    """Why a finding may not stand; "" when it may. Evidence that is not JSON raises."""
    if not isinstance(finding, Finding) or not isinstance(finding.status, Status):
        return "it returned no finding"
    if not finding.reason:
        return "it gave no reason"
    if finding.applies and (finding.status is Status.PASSED) is bool(finding.remedy):
        return "a remedy belongs to every row that is not PASSED, and to no other"
    if not finding.applies and finding.status is not Status.SKIPPED:
        return "a row that does not apply is SKIPPED"
    canonical_json(finding.evidence)
    return ""


def _ignored(evidence: Evidence) -> Iterator[CheckResult]:
    def left_out(metric: str | None, pattern: str, title: str, reason: str, remedy: str) -> CheckResult:
        return CheckResult(
            id=f"ignored_metric/{metric or pattern}",
            title=title,
            status=Status.SKIPPED,
            reason=reason,
            remedy=remedy,
            evidence={"metric": metric, "pattern": pattern},
            required=False,
        )

    for name, pattern in sorted(evidence.ignored_metrics.items()):
        why = f"left out on request: it matches --ignore-metric {pattern!r}"
        yield left_out(
            name, pattern, f"Metric {name} was left out", why, "omit --ignore-metric to compare it"
        )
    # A pattern that left nothing out is a typing error more often than not.
    for pattern in sorted(set(evidence.ignore) - set(evidence.ignored_metrics.values())):
        if not any(fnmatchcase(name, pattern) for name in evidence.ignored_metrics):
            why = f"--ignore-metric {pattern!r} left nothing out: no metric matches it"
            title = f"Metrics that match {pattern} were left out"
            yield left_out(None, pattern, title, why, _near_metrics(pattern, evidence))


def _outputs(evidence: Evidence) -> Iterator[CheckResult]:
    """A row of the output files that differ, where there are any: nothing compared them."""
    found = evidence.outputs_differing
    if not found:
        return
    counts = "`--output PATTERN`" if evidence.recipe is None else "`outputs` in recipe.yaml"
    yield CheckResult(
        id="output_files/not_compared",
        title="Output files that differ were not compared",
        status=Status.SKIPPED,
        reason=f"{listed(found)}: different contents, or left by one run only; not compared",
        remedy=f"name those that must repeat with {counts}",
        evidence={"files": dict(sorted(found.items())[:_LISTED]), "count": len(found)},
        required=False,
    )


def _left(evidence: Evidence) -> Iterator[CheckResult]:
    """A row of what earlier runs left where later ones could read it, or that this is not known."""
    found, unknown = evidence.left_in_tree, evidence.tree_unknown
    if not found and not unknown:
        return
    told = listed([f"{path} ({how})" for path, how in sorted(found.items())])
    yield CheckResult(
        id="tree/left_between_runs",
        title="Files of the tree that changed between the runs",
        status=Status.SKIPPED,
        reason=f"a later run could read what an earlier one, or someone else, left: {told}"
        if found
        else f"what the runs left in the tree was not looked at: {unknown}",
        remedy="have the program write to {run_dir}, or remove these files and see whether it repeats"
        if found
        else "run it in a smaller folder",
        evidence={"files": dict(sorted(found.items())[:_LISTED])},
        required=False,
    )


def _printed_failures(evidence: Evidence) -> Iterator[CheckResult]:
    """A row of the logs that end with an error, where there are any."""
    if found := evidence.printed_failures:
        told = listed([f"{file} ({error})" for file, error in sorted(found.items())])
        yield CheckResult(
            id="printed/failure",
            title="Logs that end with an error",
            status=Status.SKIPPED,
            reason=f"the program ended with exit code 0, and a log with an error: {told}",
            remedy="where a pipe or a shell hides the exit code, let it through, as "
            "`bash -o pipefail -c '… | tee {run_dir}/log'` does",
            evidence={"files": dict(sorted(found.items())[:_LISTED])},
            required=False,
        )


def _near_metrics(pattern: str, evidence: Evidence) -> str:
    names = sorted({name for run in evidence.runs for name in run.metric_names})
    near = difflib.get_close_matches(pattern, names, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"name one of {', '.join(names[:_SHOWN])}" if names else "leave it out"


def _malformed(evidence: Evidence, known: set[str]) -> list[CheckResult]:
    problems = list(_problems_of_recipe(evidence.recipe, known))
    if not problems:
        return []
    return [
        CheckResult(
            id=_MALFORMED,
            title="The recipe relaxes and requires rows that exist, and says why",
            status=Status.ERROR,
            reason="; ".join(problems),
            remedy="correct the section `checks` of recipe.yaml; `reprokit help checks` lists the rows",
            evidence={"problems": problems},
        )
    ]


def _problems_of_recipe(recipe: Mapping[str, Any] | None, known: set[str]) -> Iterable[str]:
    section = (recipe or {}).get("checks")
    if section is None:
        return
    if not isinstance(section, Mapping):
        yield f"checks is {section!r}, not a mapping with relax and require"
        return
    yield from (f"checks has no key {key!r}" for key in section if key not in {"relax", "require"})
    for key in ("relax", "require"):
        entries = section.get(key)
        if entries is not None and not isinstance(entries, list | tuple):
            yield f"checks.{key} is {entries!r}, not a list"
            continue
        for entry in entries or ():
            name = entry.get("check") if isinstance(entry, Mapping) and key == "relax" else entry
            yield from _problems_of_entry(recipe or {}, key, name, known)


def _problems_of_entry(recipe: Mapping[str, Any], key: str, name: object, known: set[str]) -> Iterable[str]:
    if not isinstance(name, str) or name not in known:
        yield f"checks.{key} names an unknown row: {name!r}"
    elif key == "relax" and name in VERDICT_ROWS:
        yield f"{name} cannot be relaxed: it is what the verdict means"
    elif key == "relax" and name not in relaxations(recipe):
        yield f"{name} is relaxed without a reason (because)"
    elif key == "relax" and name in requirements(recipe):
        yield f"{name} is both relaxed and required"
