"""What changed between a golden and a run, in words: settings with their lines, packages, machine.

Pure. Whether a change mattered is not said here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.checklist import Evidence, GoldenEvidence
from reprokit.core.environment_record import DifferingFact
from reprokit.core.run_record import OutsideCode, RunRecord
from reprokit.core.tolerance import Tolerance
from reprokit.nested_diff import differences
from reprokit.recipes import NarrowerTolerances, tolerances_from

_PACKAGE = "inside.packages."
_SHOWN = 3
_NOT_OF_COMMAND = "the command is the same; a golden of a plain command does not say what its files were"
_NOT_RECORDED = (
    "the variables of its environment, and files outside the repository that it reads, are not recorded"
)


def settings(
    golden: Mapping[str, Any], run: Mapping[str, Any], *, recipe: str, lines: Mapping[str, int]
) -> tuple[str, ...]:
    """Every setting that is not the golden's: ``file:line path old → new``, in the order of the golden.

    ``lines``: dotted path → line from 1; of a default, that of the nearest section that the recipe writes.
    """
    return tuple(
        f"{recipe_line(recipe, path, lines)} {path} {before!r} → {after!r}"
        for path, before, after in differences(golden, run)
    )


def code(evidence: Evidence, lines: Mapping[str, int]) -> str:
    """What of the recipe is not the golden's, for the end of a sentence: settings first, then files."""
    golden = evidence.golden
    outside, note = _outside_code(evidence)
    run = evidence.runs[0].run if evidence.runs else RunRecord()
    is_command = bool(run.plain_command) and run.outside_code is not None  # as said since that is recorded
    if golden is None or not (golden.changed or outside):
        return f"{_NOT_OF_COMMAND if is_command else 'nothing in the recipe has changed since then'}{note}"
    config = run.training_config
    told: tuple[str, ...] = ()
    if config and golden.provenance.config:
        told = settings(golden.provenance.config, config, recipe=run.recipe or "", lines=lines)
    told = (*told, *golden.program_changes, *outside)
    # The recipe's digest holds those of trainer, parts and configuration: next to them, it tells nothing.
    sources = {"trainer", "parts", "program"}.intersection(golden.changed)
    explained = {"config", "recipe"} if told else {"recipe"} if sources else set()
    explained |= {"program"} if golden.program_changes else set()
    others = [name for name in golden.changed if name not in explained]
    return f"changed since then: {_listed([*told, *others])}"


def _outside_code(evidence: Evidence) -> tuple[tuple[str, ...], str]:
    """Files outside the repository that are not the golden's; and a clause on them, where there are none."""
    now = evidence.runs[0].run.outside_code if evidence.runs else None
    before = evidence.golden.provenance.outside_code if evidence.golden else None
    if now is None or not (now != OutsideCode() or before):
        return (), ""
    what = "code outside the repository that it can import"
    unknown = now.unknown
    if unknown is None and before is not None:
        unknown = before.unknown
    if unknown is not None:
        return (), f"; whether {what} has changed is not known: {unknown}"
    files = now.files
    if before is None:
        has = f"whether {what} ({_listed(list(files))}) has changed"
        return (), f"; {has} is not known: the golden does not say"
    old = before.files
    if not (files or old):
        return (), f"; {_NOT_RECORDED}"
    names = [name for name in dict.fromkeys((*old, *files)) if old.get(name) != files.get(name)]
    ways = {name: " is new" if name not in old else " is gone" if name not in files else "" for name in names}
    told = tuple(f"{name}{ways[name]} (outside the repository)" for name in names)
    return told, f"; {what} ({_listed(list(files))}) has not changed"


def recipe_line(recipe: str, path: str, lines: Mapping[str, int]) -> str:
    """``file:line`` of a key of a recipe, or of the section above it."""
    return f"recipes/{recipe}/recipe.yaml{_line(path, lines)}"


def uncounted_tolerance(evidence: Evidence, metric: str | None) -> str:
    """That the recipe's tolerance of a metric is wider than the golden's; "" where it is not."""
    declared = (evidence.recipe or {}).get("tolerances")
    blessed = evidence.golden.provenance.tolerances if evidence.golden else None
    if metric is None or not isinstance(declared, Mapping) or blessed is None:
        return ""
    recipe, golden = (tolerances_from(one, platform=evidence.platform) for one in (declared, blessed))
    counted = NarrowerTolerances(one=recipe, other=golden).of(metric)
    if counted == recipe.of(metric):
        return ""
    return (
        f"the recipe's tolerance for {metric} ({_granted(recipe.of(metric))}) is wider than the one that the "
        f"golden was promoted with ({_granted(golden.of(metric))}), and counts only after the next promotion"
    )


def environment(golden: GoldenEvidence) -> str:
    """What of the environment can have changed numbers, packages first; "" when nothing is known."""
    return environment_rows(golden.environment_diff)


def environment_rows(rows: Sequence[DifferingFact]) -> str:
    """The same, of what ``capture.environment_diff`` returns."""
    counting = [row for row in rows if row.get("can_change_numbers") != "no"]
    packages = [row for row in counting if str(row.get("field")).startswith(_PACKAGE)]
    named = packages or counting
    told = [
        f"package {row['field'].removeprefix(_PACKAGE)} {_value(row['expected'])} → {_value(row['actual'])}"
        if row in packages
        else f"{row['field']} was {_value(row['expected'])}, is {_value(row['actual'])}"
        for row in named
    ]
    more = len(counting) - len(named)
    tail = f" (and {more} more {'fact' if more == 1 else 'facts'})" if more else ""
    return f"{_listed(told)}{tail}" if told else ""


def _granted(tolerance: Tolerance) -> str:
    if tolerance.exact:
        return "exact"
    terms = {"rtol": tolerance.rtol, "atol": tolerance.atol}
    told = [f"{name} {value:g}" for name, value in terms.items() if value]
    return ", ".join(told) + (f", mean of {tolerance.mean_of}" if tolerance.mean_of > 1 else "")


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:_SHOWN])
    return f"{shown} and {len(items) - _SHOWN} more" if len(items) > _SHOWN else shown


def _line(path: str, lines: Mapping[str, int]) -> str:
    while path and path not in lines:
        path = path.rpartition(".")[0]
    return f":{lines[path]}" if path else ""


def _value(value: Any) -> str:
    if value is None:
        return "absent"
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    if not text.strip():
        return "empty"
    return text if len(text) <= 80 else f"{text[:77]}…"
