"""Row ``data_recorded``: every data set that the recipe names was used with the digest it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reprokit.core.evidence import Evidence, RunEvidence, problems_of_runs
from reprokit.core.run_record import SharedRows
from reprokit.core.verdicts.rows import Finding, failed, failed_runs, not_applicable, passed, unjudged

ID = "data_recorded"
TITLE = "Data and the steps that prepare it are recorded"
ORDER = 130
ADVISORY = False
NEEDS_RECIPE = True

_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_DECLARE = "declare in recipe.yaml: `data: none`, or `data: [{name: …, sha256: 'sha256:…', steps: [...]}]`"
_STEPS_OF_NAMED = ("fetched, compared with its digest",)
_REPEAT = "make the step depend on its inputs, settings and seed alone, then: reprokit data prepare RECIPE"
_PREPARE = "reprokit data prepare RECIPE, then run again"
_SPLIT = "split again by what identifies a row: reprokit data split --key COLUMN"
_USE = "use the data that the recipe declares, or declare in recipe.yaml what was used"


def check(evidence: Evidence) -> Finding:
    """Declared with digest and steps, and recorded in every run with the same digest."""
    declared = (evidence.recipe or {}).get("data")
    if declared == "none":
        return not_applicable("the recipe declares no data", "")
    if isinstance(declared, Mapping):
        declared = [_named(name, entry) for name, entry in declared.items()]
    if not isinstance(declared, list | tuple) or not declared:
        return failed("the recipe does not say which data it uses", _DECLARE)
    for entry in declared:
        if not _is_declared(entry):
            return failed(f"data without name, SHA-256 or steps: {entry!r}", _DECLARE)
    if broken := failed_runs(evidence, lambda run: _problem(run, declared), _USE):
        return broken
    if judged := _preparation(evidence) or _disjoint(evidence):
        return judged
    names = sorted(entry["name"] for entry in declared)
    steps = list((evidence.recipe or {}).get("prepare") or ())
    apart = "; no row is in two splits" if (evidence.recipe or {}).get("disjoint") else ""
    prepared = f"; prepared twice, equal byte for byte: {', '.join(steps)}" if steps else ""
    return passed(
        f"every run used the declared data: {', '.join(names)}{prepared}{apart}",
        data=names,
        **({"preparation": evidence.runs[0].run.preparation} if steps else {}),
    )


def _preparation(evidence: Evidence) -> Finding | None:
    """What of the steps under ``prepare`` is not shown to repeat; None where nothing."""
    steps = (evidence.recipe or {}).get("prepare") or {}
    made = {
        step: {name: one for name, one in _entries(evidence).items() if one.get("prepared") == step}
        for step in steps
    }
    for problem_of, verdict, remedy in ((_differs, failed, _REPEAT), (_unshown, unjudged, _PREPARE)):

        def problem(run: RunEvidence, of: Callable[..., str] = problem_of) -> str:
            return next(filter(None, (of(step, _record(run, step), made[step]) for step in steps)), "")

        if steps and (problems := problems_of_runs(evidence, problem)):
            return verdict(problems[0], remedy, all=list(problems))
    return None


def _disjoint(evidence: Evidence) -> Finding | None:
    """Which tables share rows that must not; None where none do."""
    wanted = (evidence.recipe or {}).get("disjoint") or []

    def problem(run: RunEvidence) -> str:
        recorded = run.run.disjoint
        for index, said in enumerate(wanted):
            found = recorded[index] if index < len(recorded) else SharedRows()
            count = found.num_duplicates
            if list(found.files) != said["files"] or count is None or count < 0:
                return f"run.json does not say whether {', '.join(said['files'])} share rows"
            if count:
                name, line, first, before = found.first[0]
                return f"{count:,} rows are in two splits: {name}:{line} is {first}:{before}"
        return ""

    if wanted and (problems := problems_of_runs(evidence, problem)):
        return failed(problems[0], _SPLIT, all=list(problems))
    return None


def _entries(evidence: Evidence) -> Mapping[str, Mapping[str, Any]]:
    declared = (evidence.recipe or {}).get("data")
    return declared if isinstance(declared, Mapping) else {}


def _record(run: RunEvidence, step: str) -> Mapping[str, Any]:
    found = (run.run.preparation or {}).get(step)
    return found if isinstance(found, Mapping) else {}


def _differs(step: str, record: Mapping[str, Any], made: Mapping[str, Mapping[str, Any]]) -> str:
    """Why what is recorded of a step is not what is declared, or ""."""
    if record.get("differing"):
        return f"two preparations by the step {step} differ: {record['differing']}"
    outputs = record.get("outputs")
    if not isinstance(outputs, Mapping):
        return ""
    for name, entry in made.items():
        came = (outputs.get(name) or {}).get("sha256")
        if came != entry["sha256"]:
            return (
                f"the step {step} made a different {name}: {came}, and {entry['sha256']} is declared and used"
            )
    return ""


def _unshown(step: str, record: Mapping[str, Any], made: Mapping[str, Mapping[str, Any]]) -> str:  # noqa: ARG001
    """Why nothing shows that a step repeats, or ""."""
    count = record.get("preparations")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        return f"nothing shows that the step {step}, as it is now, makes the data that was used"
    return f"the step {step} was run once: nothing shows that it repeats" if count < 2 else ""


def _named(name: object, entry: object) -> object:
    """A file that is declared by its name, in the form of one in a list."""
    return {"name": name, **entry, "steps": _STEPS_OF_NAMED} if isinstance(entry, Mapping) else entry


def _is_declared(entry: object) -> bool:
    if not isinstance(entry, Mapping):
        return False
    name, sha256, steps = entry.get("name"), entry.get("sha256"), entry.get("steps")
    known = isinstance(sha256, str) and _SHA256.fullmatch(sha256) is not None
    return isinstance(name, str) and bool(name) and known and isinstance(steps, list | tuple)


def _problem(run: RunEvidence, declared: Sequence[Mapping[str, Any]]) -> str:
    recorded = run.run.data
    if recorded is None:
        return "run.json does not say which data was used"
    for entry in declared:
        name, used = entry["name"], recorded.get(entry["name"])
        if used != entry["sha256"]:
            return f"data {name}: {used!r} was used, {entry['sha256']} is declared"
    return ""
