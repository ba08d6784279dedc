"""A stopped run and the run that resumed it, compared with the run that was never stopped.

Records up to the checkpoint come from the stopped run, all later ones from the resumed run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from reprokit import checkpoints, runs, workspace
from reprokit.core.evidence import ResumeEvidence, is_integer
from reprokit.core.run_record import ResumedFrom
from reprokit.core.verdicts.comparability import (
    RESUMED,
    Objection,
    why_not_alone,
    why_not_comparable,
    why_not_its_own,
)
from reprokit.errors import CheckpointError
from reprokit.harness.judging.compared_with.run_identity import identity_of
from reprokit.harness.judging.differences.trace_comparison import first_difference, sample_difference
from reprokit.layout import METRICS, TIMING, TRACE, traces_of
from reprokit.runs.listing import key_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Three:
    """The three runs, and the step up to which records come from the stopped one."""

    whole: runs.StoredRun
    stopped: runs.StoredRun
    resumed: runs.StoredRun
    step: int


def resume_evidence(whole: Path, interrupted: Sequence[Path]) -> ResumeEvidence:
    """What a stopped and resumed training came to: numbers first, then what lies in the checkpoints.

    ``interrupted``: the folder of the stopped run, and of the resumed one where there is one.
    """
    stopped = runs.read(interrupted[0], verify=False)
    last = _steps(stopped.path / METRICS)
    seen = ResumeEvidence(
        stopped=str(stopped.path),
        resumed=str(interrupted[1]) if len(interrupted) > 1 else "",
        signal=str(stopped.record.signal or ""),
        stopped_at=last[-1] if last else None,
        place=stopped.record.stop_place.told if stopped.record.stop_place else "",
    )
    if not seen.signal:
        ended = stopped.record.message or stopped.record.outcome or stopped.incomplete_because
        return replace(seen, problem=f"the run was not killed as planned, it ended otherwise: {ended}")
    if not seen.resumed:
        return replace(seen, problem=f"{seen.stopped}: it left nothing that a run could be resumed from")
    resumed = runs.read(interrupted[1])
    point = resumed.record.resumed_from or ResumedFrom()
    first = runs.read(whole)
    seen = replace(seen, checkpoint=point.checkpoint or "", step=point.step)
    objection = _not_comparable(first, stopped, resumed) or _not_chained(stopped, point)
    if objection is not None:
        return replace(seen, problem=objection.reason)
    if seen.step is None:
        return replace(seen, problem=f"{seen.resumed}: resumed_from of run.json has no step")
    if not resumed.complete:
        return replace(seen, failure=f"the resumed run did not finish: {resumed.incomplete_because}")
    return _compared(seen, _Three(whole=first, stopped=stopped, resumed=resumed, step=seen.step))


def _not_comparable(whole: runs.StoredRun, *others: runs.StoredRun) -> Objection | None:
    if not whole.complete:
        return Objection(f"{whole.path}: {whole.incomplete_because}")
    first = identity_of(whole)
    for other in others:
        if other.is_damaged:
            return Objection(f"{other.path}: {other.incomplete_because}")
        objection = why_not_comparable(first, identity_of(other), question=RESUMED)
        objection = objection or why_not_its_own(other.record) or why_not_alone(other.record)
        if objection is not None:
            return objection.about(other.path)
    return None


def _not_chained(stopped: runs.StoredRun, point: ResumedFrom) -> Objection | None:
    if point.run != key_of(stopped.path.resolve()):
        return Objection(f"the resumed run continues {point.run}, not {stopped.path}")
    name = point.checkpoint or ""
    try:
        there = checkpoints.listed(checkpoints.folder_of(stopped.path))
    except CheckpointError as error:
        return Objection(error.told())
    sha256 = {one.path.name: one.sha256 for one in there}
    if sha256.get(name) != point.sha256:
        return Objection(f"{name} of {stopped.path} is no longer the file that was resumed from")
    return None


def _compared(seen: ResumeEvidence, three: _Three) -> ResumeEvidence:
    later = _steps(three.resumed.path / METRICS)
    seen = replace(
        seen,
        first_resumed=later[0] if later else None,
        last_resumed=later[-1] if later else None,
        resumed_s=_elapsed_s(three.resumed.path),
        whole_s=_elapsed_s(three.whole.path),
    )
    records, first = _joined(three, METRICS)
    seen = replace(seen, records=records, first=first)
    if first is None and (three.whole.path / TRACE).is_file():
        updates, first = _joined(three, TRACE)
        for name in traces_of(three.whole.record.world_size)[1:]:
            first = first or _joined(three, name)[1]
        seen = replace(seen, updates=updates, first=first and {**first, **_wrong_sample(three)})
    elif first is None:
        seen = replace(seen, updates=None)
    else:
        seen = replace(seen, first={**first, **_wrong_sample(three)})
    if first is None:
        names, first = _later_checkpoints(three)
        seen = replace(seen, checkpoints=names, first=first or _start(three, seen.checkpoint))
    return seen


def _joined(three: _Three, name: str) -> tuple[int, dict[str, Any] | None]:
    """How many lines the two halves share with the whole, byte for byte, and where they part."""
    count = 0
    for ours, theirs in zip_longest(_lines(three.whole.path / name), _halves(three, name)):
        line, half = theirs or (None, "the resumed run")
        if ours != line:
            return count, {"where": f"{name} ({half})", **_parting(ours, line)}
        count += 1
    return count, None


def _wrong_sample(three: _Three) -> dict[str, Any]:
    """The first sample that the two halves trained on in place of the whole run's, in their ledgers."""
    halves = (_object(line) for line, _ in _halves(three, TRACE))
    return sample_difference(map(_object, _lines(three.whole.path / TRACE)), halves)


def _halves(three: _Three, name: str) -> Iterator[tuple[bytes, str]]:
    for line in _lines(three.stopped.path / name):
        step = _object(line).get("step")
        if not is_integer(step) or step > three.step:
            break
        yield line, "the stopped run"
    for line in _lines(three.resumed.path / name):
        yield line, "the resumed run"


def _parting(expected: bytes | None, actual: bytes | None) -> dict[str, Any]:
    if expected is None:
        return {"what": "its length", "expected": "no more records", "actual": _object(actual or b"")}
    found = first_difference(_object(expected), None if actual is None else _object(actual)) or {}
    place = f"{found.get('what', 'the bytes of the record')} at step {_object(expected).get('step')}"
    return {"what": place, "expected": found.get("expected"), "actual": found.get("actual")}


def _start(three: _Three, name: str) -> dict[str, Any] | None:
    """What the run continued from, where it is not the whole run's: no later step may read such a state."""
    expected, actual = (checkpoints.folder_of(run.path) / name for run in (three.whole, three.stopped))
    try:
        remembered = checkpoints.removed(expected.parent).get(name)
        if remembered is not None and not expected.is_file():  # the whole run kept its digest only
            now = workspace.sha256_of(actual)
            then = remembered.sha256
            found = None if now == then else {"what": "its SHA-256", "expected": then, "actual": now}
        else:
            found = _difference(expected, actual)
    except CheckpointError as error:
        return {"where": name, "what": "the file", "expected": "a whole checkpoint", "actual": error.told()}
    return None if found is None else {"where": f"{name} (the stopped run)", **found}


def _later_checkpoints(three: _Three) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """The checkpoints after the step, and the first value in which one is not the whole run's."""
    compared: list[str] = []
    try:
        expected, actual = (_after(run.path, three.step) for run in (three.whole, three.resumed))
        for name in dict.fromkeys((*expected, *actual)):
            if name not in actual or name not in expected:
                there = {"expected": name in expected, "actual": name in actual}
                return tuple(compared), {"where": name, "what": "that it was written", **there}
            found = _difference(expected[name], actual[name])
            if found is not None:
                return tuple(compared), {"where": name, **found}
            compared.append(name)
    except CheckpointError as error:
        told = {"expected": "a whole checkpoint", "actual": error.told()}
        return tuple(compared), {"where": "a checkpoint", "what": "the file", **told}
    return tuple(compared), None


def _after(folder: Path, step: int) -> dict[str, Path]:
    return {
        one.path.name: one.path
        for one in checkpoints.listed(checkpoints.folder_of(folder))
        if one.step is None or one.step > step
    }


def _difference(expected: Path, actual: Path) -> dict[str, Any] | None:
    """The first value that is another one; where none is, the digest of the file."""
    found = next(checkpoints.differences(checkpoints.read(expected), checkpoints.read(actual)), None)
    if found is None:
        then, now = workspace.sha256_of(expected), workspace.sha256_of(actual)
        return None if now == then else {"what": "its SHA-256", "expected": then, "actual": now}
    return {"what": found.name, "expected": repr(found.expected), "actual": repr(found.actual)}


def _lines(path: Path) -> Iterator[bytes]:
    if path.is_file():
        with path.open("rb") as stream:
            yield from stream


def _steps(path: Path) -> list[int]:
    """The steps of a file's whole records; a torn last line is none."""
    found = (_object(line).get("step") for line in _lines(path) if line.endswith(b"\n"))
    return [step for step in found if is_integer(step)]


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _elapsed_s(folder: Path) -> float | None:
    last: Any = None
    for line in _lines(folder / TIMING):
        last = _object(line).get("elapsed_s", last)
    return float(last) if isinstance(last, int | float) and not isinstance(last, bool) else None
