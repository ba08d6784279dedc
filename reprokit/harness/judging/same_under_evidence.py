"""Runs with what must not matter, compared with the first run: bit for bit, or but for rounding."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import runs
from reprokit.core.evidence import SameUnderResult
from reprokit.core.verdicts.comparability import VARIED, why_not_alone, why_not_comparable, why_not_its_own
from reprokit.core.verdicts.same_under import KEY, claim_of
from reprokit.harness.judging.compared_with.run_identity import identity_of
from reprokit.harness.judging.rounding_of_pair import rounding_of_pair
from reprokit.harness.judging.varied_evidence import compared, varied_evidence
from reprokit.recipes import words_of

#: What may differ because the claim is about it, of what otherwise says which training a run was.
_CLAIMED = ("command", "modified", "config")


def thread_name(number: int) -> str:
    """What the variation of so many threads is called."""
    return f"threads_{number}"


def overrides_of(entry: Mapping[str, Any], command: Sequence[str] | None) -> tuple[str, ...]:
    """What an entry sets, as overrides of the recipe; nothing of one about threads."""
    if entry.get("args"):
        return (f"command={json.dumps([*(command or ()), *words_of(entry['args'])])}",)
    return tuple(entry.get("set") or ())


def same_under_evidence(
    first: Path, folders: Sequence[Path], twins: Mapping[str, Mapping[str, Any]]
) -> tuple[SameUnderResult, ...]:
    """What came of the runs, each named by the claim that its ``run.json`` fits; others say nothing.

    Args:
        first: The run that they are compared with.
        folders: The runs.
        twins: Run that may differ by rounding → what twins of the first were made for it.
    """
    whole, found = runs.read(first), list[SameUnderResult]()
    for folder in folders:
        one = runs.read(folder)
        entry = _entry(whole, one)
        result = _result(whole, one, entry)
        if _may_be_rounding(entry, result):
            told = twins.get(str(folder)) or {"runs": None, "why": "no twins were made"}
            result = replace(result, rounding=rounding_of_pair(first, folder, told))
        found.append(result)
    return tuple(found)


def claims_to_round(first: Path, folders: Sequence[Path]) -> tuple[Path, ...]:
    """The runs that differ from the first where their claims allow rounding."""
    whole = runs.read(first)
    stored = [runs.read(folder) for folder in folders]
    entries = [_entry(whole, one) for one in stored]
    pairs = zip(stored, entries, strict=True)
    return tuple(one.path for one, entry in pairs if _may_be_rounding(entry, _result(whole, one, entry)))


def _may_be_rounding(entry: Mapping[str, Any] | None, result: SameUnderResult) -> bool:
    """Whether a run differs, and its claim allows that for rounding."""
    is_allowed = entry is not None and entry.get("as") == "rounding"
    return is_allowed and bool(result.difference) and not (result.problem or result.failure)


def _result(whole: runs.StoredRun, one: runs.StoredRun, entry: Mapping[str, Any] | None) -> SameUnderResult:
    if entry is None:
        return SameUnderResult(claim="", path=str(one.path), problem=f"{one.path}: it matches no claim")
    claim, path = claim_of(entry), str(one.path)
    if entry.get("threads"):
        seen = varied_evidence(whole.path, [one.path])
        run, unmade = seen.runs[0], "; ".join(seen.unmade.values())
        if whole.record.environment.get("OMP_NUM_THREADS") == str(entry["threads"]):
            unmade = "the runs have this number of threads already, so nothing was changed"
        return SameUnderResult(
            claim=claim,
            path=path,
            problem=run.problem or unmade,
            failure=run.failure,
            difference=run.difference,
            records=run.records,
        )
    if problem := _problem(whole, one):
        return SameUnderResult(claim=claim, path=path, problem=problem)
    if not one.complete:
        return SameUnderResult(claim=claim, path=path, failure=one.record.message or one.incomplete_because)
    records, parted = compared(whole.path, one.path, traces=False)
    return SameUnderResult(claim=claim, path=path, records=records, difference=parted)


def _entry(whole: runs.StoredRun, one: runs.StoredRun) -> Mapping[str, Any] | None:
    """The claim that a run was made for."""
    before, after = tuple(whole.record.modified or ()), tuple(one.record.modified or ())
    varied = one.record.varied.names if one.record.varied else ()
    for entry in whole.record.recipe_data.get(KEY) or ():
        if entry.get("threads"):
            fits = tuple(varied or ()) == (thread_name(entry["threads"]),) and before == after
        else:
            command = whole.record.recipe_data.get("command")
            fits = not varied and after == (*before, *overrides_of(entry, command))
        if fits:
            found: Mapping[str, Any] = entry
            return found
    return None


def _problem(whole: runs.StoredRun, one: runs.StoredRun) -> str:
    """Why two runs cannot be compared although only the claim may differ; "" where they can."""
    if one.is_damaged:
        return f"{one.path}: {one.incomplete_because}"
    if not whole.complete:
        return f"{whole.path}: {whole.incomplete_because}"
    if one.record.recipe_data == whole.record.recipe_data:
        return "the recipe has this setting already, so nothing was changed"
    objection = why_not_comparable(_beside_claim(whole), _beside_claim(one), question=VARIED)
    objection = objection or why_not_its_own(one.record) or why_not_alone(one.record)
    return "" if objection is None else objection.about(one.path).reason


def _beside_claim(run: runs.StoredRun) -> dict[str, Any]:
    """Which training a run was, without what the claim is about."""
    found = dict(identity_of(run))
    digests = {**(run.record.digests or {}), "recipe": "", "config": ""}
    return {**found, **dict.fromkeys(_CLAIMED), "digests": digests}
