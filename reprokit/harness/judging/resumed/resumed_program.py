"""An unmodified program's resumed run against the run that was never stopped: records, aligned by step.

Its checkpoints are its own business, and so is where it stops. What counts is what it logs after that; that
it continued at all is shown by a log that begins at a later step than the whole run's.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reprokit import runs, workspace
from reprokit.core.evidence import ResumeEvidence
from reprokit.core.run_record import ResumedFrom, RunRecord, StoppedPlace
from reprokit.core.sampling.resumed_ledger import continued
from reprokit.core.sampling.samples import number_of
from reprokit.core.verdicts.comparability import (
    RESUMED,
    Objection,
    why_not_alone,
    why_not_comparable,
    why_not_its_own,
)
from reprokit.errors import CannotJudgeError
from reprokit.harness.judging.compared_with.run_identity import identity_of
from reprokit.harness.judging.differences import trace_comparison
from reprokit.harness.judging.resumed.resume_alignment import Rejoined, is_cut_short, rejoined
from reprokit.harness.running.resuming.counted_program import SIGNALS, begun_after, lost_parts, read_places
from reprokit.layout import INSTRUMENT, METRICS, OUTPUT, TRACE, read_json
from reprokit.records import run_json
from reprokit.runs.listing import key_of

_OUTPUTS = "output/"
_STEP = "step"
_STAMP = len("20261120T101500Z")


def resumed_program(whole: Path, interrupted: Sequence[Path]) -> ResumeEvidence:
    """What a program came to that was resumed from what a stopped run, or the whole run, left.

    ``interrupted``: the folder of the run that left it, and of the resumed one where there is one.
    """
    first, stopped = runs.read(whole), runs.read(interrupted[0])
    place = stopped.record.stop_place
    seen = ResumeEvidence(
        stopped=str(stopped.path),
        resumed=str(interrupted[1]) if len(interrupted) > 1 else "",
        stop_args=stopped.record.stopped_by or (),
        updates=None,
        place=place.told if place else "",
        signal=str(stopped.record.signal or "") if place else "",
    )
    not_resumed = _why_not_resumed(seen, stopped, place)
    if not_resumed is not None:
        return replace(seen, problem=not_resumed.reason)
    resumed = runs.read(interrupted[1])
    point = resumed.record.resumed_from or ResumedFrom()
    seen = replace(seen, checkpoint=point.checkpoint or "its folder")
    objection = _not_comparable(first, stopped, resumed) or _not_chained(stopped, point)
    if objection is not None:
        return replace(seen, problem=objection.reason)
    if not resumed.complete:
        return replace(seen, failure=f"the resumed run did not finish: {resumed.incomplete_because}")
    if place:
        counted = _counted(whole)
        lost = lost_parts(read_places(counted), read_places(resumed.path)) if counted else ()
        seen = replace(seen, lost=lost, counted=str(counted or ""))
    for run in (first, resumed):
        if not (run.path / METRICS).is_file():
            return replace(seen, problem=f"{run.path}: no metrics could be read")
    return _compared(seen, first, None if stopped.path == first.path else stopped, resumed)


def _why_not_resumed(
    seen: ResumeEvidence, stopped: runs.StoredRun, place: StoppedPlace | None
) -> Objection | None:
    is_killed = place is not None and seen.signal in SIGNALS and not stopped.is_damaged
    if not (is_killed or (place is None and stopped.complete)):
        ended = stopped.record.message or stopped.incomplete_because or "it went to its end"
        return Objection(f"the run that was to stop early did not end well: {ended}")
    if not seen.resumed and place and not place.has_checkpoint:
        return Objection("no checkpoint was written before: there is nothing to resume from")
    if not seen.resumed:
        return Objection(f"{seen.stopped}: it left no file that `resume_args` names")
    return None


def _counted(whole: Path) -> Path | None:
    """The run of the same, after the whole one, in which the places were counted."""
    own, began = run_json.recorded(whole), whole.name[:_STAMP]
    for folder in sorted(whole.parent.iterdir(), key=lambda path: path.name):
        record = run_json.recorded(folder) if folder.name[:_STAMP] >= began else RunRecord()
        is_counted = record.stop_place is not None and not record.stop_place.kind and record.completed
        if is_counted and (record.digests, record.seed) == (own.digests, own.seed):
            return folder
    return None


def _not_comparable(whole: runs.StoredRun, *others: runs.StoredRun) -> Objection | None:
    if not whole.complete:
        return Objection(f"{whole.path}: {whole.incomplete_because}")
    for other in others:
        objection = why_not_comparable(identity_of(whole), identity_of(other), question=RESUMED)
        objection = objection or why_not_its_own(other.record) or why_not_alone(other.record)
        if objection is not None:
            return objection.about(other.path)
    return None


def _not_chained(stopped: runs.StoredRun, point: ResumedFrom) -> Objection | None:
    if point.run != key_of(stopped.path.resolve()):
        return Objection(f"the resumed run continues {point.run}, not {stopped.path}")
    name = point.checkpoint or ""
    file = stopped.path / OUTPUT / name
    if name and (not file.is_file() or workspace.sha256_of(file) != point.sha256):
        return Objection(f"{name} of {stopped.path} is no longer the file that was resumed from")
    return None


def _compared(
    seen: ResumeEvidence, whole: runs.StoredRun, stopped: runs.StoredRun | None, resumed: runs.StoredRun
) -> ResumeEvidence:
    logs = _logs(resumed)
    steps = [record[_STEP] for records in logs.values() for record in records]
    if not steps:
        return replace(seen, failure="the resumed run logged nothing")
    seen = replace(
        seen, records=len(steps), first_resumed=min(steps), last_resumed=max(steps), stopped_at=_last(stopped)
    )
    try:
        found = _aligned(whole, stopped, resumed)
    except CannotJudgeError as error:
        return replace(seen, problem=f"the records cannot be aligned: {error.what}")
    if found.before_the_stop or (found.from_the_first and found.divergence is None):
        return _begins_again(seen, found, resumed)
    if found.divergence is not None:
        parted = found.divergence
        first = {
            "where": f"{METRICS} (the resumed run)",
            "what": f"{parted.metric or 'the record'} at step {parted.step}",
            "expected": parted.expected,
            "actual": parted.actual,
        }
        return replace(seen, first={**first, **_wrong_sample(whole, resumed)})
    hole = _hole(_logs(whole), _logs(stopped) if stopped else {}, logs) if stopped else None
    if hole is not None:
        return replace(seen, problem=hole.reason)
    other = _other_output(whole, stopped or whole, resumed)
    sample = _wrong_sample(whole, resumed)
    if other is None and sample:  # whatever the metrics say, it trained on something else
        told = {"where": f"{TRACE} (the resumed run)", "what": "the samples"}
        other = {
            **told,
            "expected": sample["sample"].get("expected"),
            "actual": sample["sample"].get("actual"),
        }
    return replace(seen, first=other and {**other, **sample})


def _wrong_sample(whole: runs.StoredRun, resumed: runs.StoredRun) -> dict[str, Any]:
    """The first sample that the resumed program trained on in place of the whole run's; empty without one.

    Both must have been watched. The resumed run's updates are counted from the one after which the whole
    run had the parameters that it began with.
    """
    torch, of_whole = (_torch(run) for run in (resumed, whole))
    records = [trace_comparison.recorded(run.path / TRACE) for run in (whole, resumed)]
    if not all(records) or "began_with" not in torch:
        return {}
    loaders = [one.get("loaders") or [] for one in (of_whole, torch)]
    try:
        numbered = continued(*records, began_with=torch["began_with"], loaders=(loaders[0], loaders[1]))
    except ValueError as error:
        return {"sample": {"how": "damaged", "told": f"the ledger of samples is damaged: {error}"}}
    if numbered is None:
        return {}
    found = trace_comparison.sample_difference(records[0], numbered)
    number = number_of(found["sample"]["ledger"]) if "ledger" in found.get("sample", {}) else len(loaders[1])
    if number < len(loaders[1]):
        found["sample"]["loader"] = f"{loaders[1][number].get('file')}:{loaders[1][number].get('line')}"
    return found


def _torch(run: runs.StoredRun) -> dict[str, Any]:
    """What the watch says of PyTorch in a run's first process."""
    found: dict[str, Any] = (
        read_json(run.path / INSTRUMENT).get("processes", {}).get("0", {}).get("torch", {})
    )
    return found


def _aligned(whole: runs.StoredRun, stopped: runs.StoredRun | None, resumed: runs.StoredRun) -> Rejoined:
    stopped = stopped if stopped and (stopped.path / METRICS).is_file() else None
    with tempfile.TemporaryDirectory(prefix="reprokit-resumed-") as scratch:
        places = {name: Path(scratch, name) for name in ("whole", "stopped", "resumed")}
        for place, run in zip(places.values(), (whole, stopped, resumed), strict=True):
            place.mkdir()
            for source, records in _logs(run).items() if run else ():
                text = "".join(f"{json.dumps(record)}\n" for record in records)
                (place / f"log-{quote(source, safe='')}.jsonl").write_text(text, encoding="utf-8")
        cut = stopped is not None and is_cut_short(places["whole"], places["stopped"])
        return rejoined(places["whole"], places["stopped"] if cut else None, places["resumed"])


def _begins_again(seen: ResumeEvidence, found: Rejoined, resumed: runs.StoredRun) -> ResumeEvidence:
    """A log that begins with the first step: the run started again, or counts its steps again."""
    begun = begun_after(read_places(Path(seen.counted)), read_places(resumed.path)) if seen.counted else None
    if not begun or not found.before_the_stop:
        return replace(seen, problem=_nothing_shows(found))
    told = (
        f"the resumed run's first update had the state of update {begun + 1} of the uninterrupted run, and "
        "its log begins with the first step again; lost: counters"
    )
    return replace(seen, lost=("counters",), failure=told)


def _nothing_shows(found: Rejoined) -> str:
    begins = "the resumed run's log begins where the whole run's does"
    if found.divergence is None:
        return f"{begins}, with equal records: nothing shows whether it continued or started again"
    lacks = "lacks the records of the run that was stopped"
    return f"{begins}, and {lacks}: it started again, or counts from 0"


def _hole(
    whole: Mapping[str, list[dict[str, Any]]],
    stopped: Mapping[str, list[dict[str, Any]]],
    resumed: Mapping[str, list[dict[str, Any]]],
) -> Objection | None:
    """Steps of the whole run that neither of the other two has: what happened there, no one saw."""
    for source, records in whole.items():
        parts = [*stopped.get(source, ()), *resumed.get(source, ())]
        known = {part[_STEP] for part in parts}
        lost = [record[_STEP] for record in records if record[_STEP] not in known]
        if lost:
            return Objection(f"neither the stopped nor the resumed run has the record of step {lost[0]}")
    return None


def _other_output(
    whole: runs.StoredRun, stopped: runs.StoredRun, resumed: runs.StoredRun
) -> dict[str, Any] | None:
    """The first declared output file that is not the whole run's; those written before the stop aside."""
    expected, actual = _outputs(whole), _outputs(resumed)
    for name in sorted({*expected, *actual}):
        file = name.partition(":")[0]
        if name not in actual and (stopped.path / file).is_file():
            continue
        if expected.get(name) != actual.get(name):
            return {
                "where": name,
                "what": "its digest",
                "expected": expected.get(name),
                "actual": actual.get(name),
            }
    return None


def _logs(run: runs.StoredRun) -> dict[str, list[dict[str, Any]]]:
    """The records of each source, their metrics without its name; without what output files hold."""
    sources = sorted(run.record.sources, key=len, reverse=True)
    found: dict[str, list[dict[str, Any]]] = {}
    for record in _records(run):
        names = [name for name in record if name != _STEP]
        if names and not all(name.startswith(_OUTPUTS) for name in names):
            source = _source_of(names, sources)
            prefix = f"{source}:" if len(sources) > 1 else ""
            bare = {name.removeprefix(prefix): value for name, value in record.items()}
            found.setdefault(source, []).append(bare)
    return found


def _source_of(names: Sequence[str], sources: Sequence[str]) -> str:
    if len(sources) < 2:
        return sources[0] if sources else ""
    return next((source for source in sources if names[0].startswith(f"{source}:")), "")


def _outputs(run: runs.StoredRun) -> dict[str, Any]:
    """Name of each declared output, or of a tensor in it → its digest."""
    return {
        name: value
        for record in _records(run)
        for name, value in record.items()
        if name.startswith(_OUTPUTS) and all(one.startswith(_OUTPUTS) for one in record if one != _STEP)
    }


def _records(run: runs.StoredRun) -> Iterator[dict[str, Any]]:
    path = run.path / METRICS
    if path.is_file():
        with path.open("rb") as lines:
            yield from map(json.loads, lines)


def _last(stopped: runs.StoredRun | None) -> int | None:
    steps = [record[_STEP] for records in (_logs(stopped) if stopped else {}).values() for record in records]
    return max(steps, default=None)
