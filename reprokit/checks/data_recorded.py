"""Row ``data_recorded``: every data set that the recipe names was used with the digest it names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reprokit.core.evidence import Evidence, RunEvidence, fact
from reprokit.core.rows import Finding, failed, failed_runs, not_applicable, passed

ID = "data_recorded"
TITLE = "Data and the steps that prepare it are recorded"
ORDER = 130
ADVISORY = False
NEEDS_RECIPE = True

_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_DECLARE = "declare in recipe.yaml: `data: none`, or `data: [{name: …, sha256: 'sha256:…', steps: [...]}]`"
_STEPS_OF_NAMED = ("fetched, held against its digest",)
_USE = "use the data that the recipe declares, or declare in recipe.yaml what was used"


def check(evidence: Evidence) -> Finding:
    """Declared with digest and steps, and recorded in every run with the same digest."""
    declared = (evidence.recipe or {}).get("data")
    if declared == "none":
        return not_applicable("the recipe uses no data: all of it comes from the seed", "")
    if isinstance(declared, Mapping):
        declared = [_named(name, entry) for name, entry in declared.items()]
    if not isinstance(declared, list | tuple) or not declared:
        return failed("the recipe does not say which data it uses", _DECLARE)
    for entry in declared:
        if not _is_declared(entry):
            return failed(f"data without name, SHA-256 or steps: {entry!r}", _DECLARE)
    if broken := failed_runs(evidence, lambda run: _problem(run, declared), _USE):
        return broken
    names = sorted(entry["name"] for entry in declared)
    return passed(f"every run used the declared data: {', '.join(names)}", data=names)


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
    recorded = fact(run.run, "data")
    if not isinstance(recorded, Mapping):
        return "run.json does not say which data was used"
    for entry in declared:
        name, used = entry["name"], recorded.get(entry["name"])
        if used != entry["sha256"]:
            return f"data {name}: {used!r} was used, {entry['sha256']} is declared"
    return ""
