"""Runs under varied conditions, compared with the first run, in which nothing was varied.

A varied run that is not comparable with the first run, or did not finish, says so in place of a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.core.evidence import VariedEvidence, VariedResult, fact
from reprokit.core.run_record import RecordedVariations
from reprokit.core.verdicts.agreement import difference
from reprokit.core.verdicts.comparability import (
    VARIED,
    Objection,
    why_not_alone,
    why_not_comparable,
    why_not_its_own,
)
from reprokit.core.verdicts.rows import counted
from reprokit.diagnosis import read_trace
from reprokit.errors import CannotJudgeError, MetricsError
from reprokit.harness.judging.compared_with.run_identity import identity_of
from reprokit.harness.judging.differences.rank_traces import compare_ranks
from reprokit.harness.running.run_kinds import LEFTOVERS, WATCH
from reprokit.harness.running.varying.apply_variations import refusal
from reprokit.harness.running.varying.in_force import conditions_of, why_not_in_force
from reprokit.harness.running.varying.varied_run import KEPT
from reprokit.layout import METRICS, OUTPUT, STDERR, TRACE, read_json
from reprokit.records import environment_json

THREADS = "threads"
#: Library → where the environment record says how many threads it computes with.
THREADS_OF = {"OpenBLAS": "inside.numpy.openblas.threads", "PyTorch": "inside.torch.threads"}


def varied_evidence(first: Path, folders: Sequence[Path]) -> VariedEvidence:
    """What came of the runs under different conditions, in the order in which they were made."""
    whole = runs.read(first)
    stored = [runs.read(folder) for folder in folders]
    held: dict[str, str] = {}
    unmade: dict[str, str] = {}
    for one in stored:
        varied = one.record.varied or RecordedVariations()
        held.update(varied.held)
        unmade.update(varied.unmade)
    made = [
        _without_unmade(_run(whole, one), _not_in_force(one) | _threads_as_before(whole, one), unmade)
        for one in stored
    ]
    return VariedEvidence(runs=tuple(made), held=held, unmade=unmade)


def agree(folders: Sequence[Path]) -> bool:
    """Whether all runs came to their end with the same numbers; varying others proves nothing more."""
    stored = [runs.read(folder, verify=False) for folder in folders]
    return all(one.complete for one in stored) and all(
        not compared(folders[0], other)[1] for other in folders[1:]
    )


def _without_unmade(run: VariedResult, why: Mapping[str, str], unmade: dict[str, str]) -> VariedResult:
    """A run that is equal says nothing of a variation that was not in force in it."""
    if not run.is_equal:
        return run
    unmade.update({name: text for name, text in why.items() if name in run.names})
    return replace(run, names=tuple(name for name in run.names if name not in why))


def _not_in_force(one: runs.StoredRun) -> dict[str, str]:
    """The variations that a run does not show itself, and why; runs of before recorded nothing: none."""
    kept = read_json(one.path / KEPT)
    expected = kept.get("expected")
    if not isinstance(expected, Mapping):
        return {}
    places = (place / WATCH for place in (one.path, one.path / OUTPUT))
    seen: dict[str, Mapping[str, Any]] = {}
    for place in places:
        with suppress(CannotJudgeError):  # damaged: then it shows nothing
            seen |= conditions_of(read_trace(place).facts)
    found = {
        name: why_not_in_force(what, seen, before=kept.get("before") or {}) for name, what in expected.items()
    }
    varied = one.record.varied or RecordedVariations()
    if LEFTOVERS in (varied.names or ()) and not varied.after:
        found[LEFTOVERS] = "no run with another seed was made before"
    return {name: why for name, why in found.items() if why}


def _threads_as_before(whole: runs.StoredRun, one: runs.StoredRun) -> dict[str, str]:
    """The variation of threads, and the library that computed with as many as in the first run.

    A library takes fewer threads than a variable says where there are fewer cores.
    """
    # A side of `compare` is varied in all of its runs, the first one too.
    threads = sorted(_threads_of(one) - _threads_of(whole))
    if not threads:
        return {}
    before, after = (environment_json.recorded(run.path) for run in (whole, one))
    for library, place in THREADS_OF.items():
        number = fact(after, place)
        if isinstance(number, int) and number == fact(before, place):
            pinned = one.record.limits is not None and one.record.limits.cpus
            more = "; with --sequential a run has all cores" if pinned else ""
            why = f"{library} computed with {counted(number, 'thread')} in both runs{more}"
            return dict.fromkeys(threads, why)
    return {}


def _threads_of(run: runs.StoredRun) -> set[str]:
    """The variations of threads that a run was made under."""
    named = (run.record.varied.names if run.record.varied else None) or ()
    return {name for name in named if name == THREADS or name.startswith(f"{THREADS}_")}


def _run(whole: runs.StoredRun, one: runs.StoredRun) -> VariedResult:
    varied = one.record.varied or RecordedVariations()
    names, watched = varied.names or (), bool(varied.watched)
    about: dict[str, Any] = {"path": str(one.path), "names": names, "watched": watched}
    objection = _objection(whole, one, watched=watched)
    if objection is not None:
        return VariedResult(**about, problem=objection.reason)
    refused = "" if one.complete else refusal(one.path / STDERR)
    if refused:
        return VariedResult(**about, problem=f"{one.path}: {refused}")
    if not one.complete:
        message = one.record.message or one.incomplete_because
        return VariedResult(**about, failure=message)
    records, parted = compared(whole.path, one.path)
    return VariedResult(**about, records=records, difference=parted)


def _objection(whole: runs.StoredRun, one: runs.StoredRun, *, watched: bool) -> Objection | None:
    if one.is_damaged:
        return Objection(f"{one.path}: {one.incomplete_because}")
    if one.record.varied is None:
        return Objection(f"{one.path}: run.json does not say what was varied")
    if not whole.complete:
        return Objection(f"{whole.path}: {whole.incomplete_because}")
    objection = why_not_comparable(identity_of(whole), identity_of(one), question=VARIED)
    objection = objection or why_not_its_own(one.record) or why_not_alone(one.record)
    if objection is not None:
        return objection.about(one.path)
    if one.complete and watched and not _has_trace(one.path):
        return Objection(f"{one.path}: the watch was not loaded, so nothing that it varies was varied")
    return None


def _has_trace(folder: Path) -> bool:
    """Whether the watch wrote what it saw; what an unmodified program's run wrote stays under ``output/``."""
    return any(any((place / WATCH).glob("trace-*.json")) for place in (folder, folder / OUTPUT))


def _is_watched_otherwise(folder: Path) -> bool:
    """Whether an unmodified program ran under the watch that varies, which does not trace its parameters."""
    return not (folder / TRACE).is_file() and any((folder / OUTPUT / WATCH).glob("trace-*.json"))


def compared(first: Path, other: Path, *, traces: bool = True) -> tuple[int, str]:
    """How many records were compared, and where they part; traces too, where the first run has one."""
    try:
        found = adapters.compare(first / METRICS, other / METRICS)
    except MetricsError as error:
        return 0, f"in a way that cannot be compared: {error}"
    if not found.identical:
        return found.records_compared, difference(found)
    if not traces or ((first / TRACE).is_file() and _is_watched_otherwise(other)):
        return found.records_compared, ""
    if (first / TRACE).is_file() or (other / TRACE).is_file():
        trace = compare_ranks(first, other)
        if not trace.equal:
            parted = trace.first or {}
            place = parted.get("place") or parted.get("what")
            return found.records_compared, f"from step {parted.get('step')} on: {place} in the trace"
    return found.records_compared, ""
