"""Row ``environment_recorded``: the environment record is complete, and says why where it is not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reprokit.core import fingerprint
from reprokit.core.evidence import Evidence, RunEvidence, fact
from reprokit.core.verdicts.rows import Finding, failed_runs, not_applicable, passed

ID = "environment_recorded"
TITLE = "The environment is recorded"
ORDER = 100
ADVISORY = False
NEEDS_RECIPE = False

_OF_ALL = ("schema", "host.kernel", "host.os", "host.cpu.architecture", "host.libc", "host.tool.version")
_OF_RECIPES = (
    "inside.python.version",
    "inside.libc",
    "inside.packages",
    "inside.device.kind",
    "limits",
)
_OF_PINNED = (
    "inside.numerics.profile",
    "inside.variables.PYTHONHASHSEED",
    "image.lock_digest",
    "image.digest",
)
_OF_TRAINERS = ("inside.torch.version", "inside.numpy.version")  # commands need not use either
_OR_REASON = ("source.commit",)


def check(evidence: Evidence) -> Finding:
    """Every run's record has every field that it must have, and a reason for each that it lacks."""
    if evidence.recipe is None and not any(run.environment for run in evidence.runs):
        return not_applicable(
            "nothing was captured around the plain command", "capture it: `reprokit env capture`"
        )
    required = _required(evidence.recipe)
    is_unpinned = (evidence.recipe or {}).get("variant") == "none"
    may_be_empty = {"inside.packages"} if evidence.locked == {} else set()  # a lock may have no package
    if broken := failed_runs(
        evidence,
        lambda run: _problem(run, required, may_be_empty, is_unpinned=is_unpinned),
        "see what can be captured: `reprokit env capture`",
    ):
        return broken
    missing = sorted({field for run in evidence.runs for field in run.environment.get("missing") or ()})
    if evidence.recipe is None:  # no one was inside a program that has no recipe: that is no lack
        missing = [field for field in missing if not field.startswith("inside.")]
    unknown = fingerprint.why_unknown(*(run.environment for run in evidence.runs)) if is_unpinned else ""
    note = f"; {unknown}" if unknown else ""
    note += f"; missing with a reason: {', '.join(missing)}" if missing else ""
    return passed(f"every required field is recorded{note}", missing=missing)


def _required(recipe: Mapping[str, Any] | None) -> tuple[str, ...]:
    if recipe is None:
        return _OF_ALL
    pinned = () if recipe.get("variant") == "none" else _OF_PINNED
    return (*_OF_ALL, *_OF_RECIPES, *pinned, *(() if "command" in recipe else _OF_TRAINERS))


def _has_none(field: str, reasons: Mapping[str, Any]) -> bool:
    """Whether the record says that its Python has no package, as one that nothing pins may have none."""
    return field == "inside.packages" and bool(reasons.get(field))


def _problem(
    run: RunEvidence, required: tuple[str, ...], may_be_empty: Collection[str], *, is_unpinned: bool
) -> str:
    reasons = run.environment.get("missing")
    if not isinstance(reasons, Mapping):
        return "the environment record does not say what is missing"
    lacking = [
        field
        for field in required
        if (found := fact(run.environment, field)) in (None, "", {}, [])
        and not (found == {} and (field in may_be_empty or (is_unpinned and _has_none(field, reasons))))
    ]
    if is_unpinned and fingerprint.why_unknown(run.environment):
        lacking = [field for field in lacking if not field.startswith("inside.")]
    lacking += [field for field in _OR_REASON if not fact(run.environment, field) and not reasons.get(field)]
    if lacking:
        because = reasons.get(lacking[0])
        return f"not recorded: {', '.join(lacking)}" + (f" ({because})" if because else "")
    blank = [field for field, reason in reasons.items() if not str(reason or "").strip()]
    return f"missing without a reason: {', '.join(blank)}" if blank else ""
