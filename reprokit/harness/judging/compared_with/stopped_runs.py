"""Runs that were stopped at the golden are compared by their first records, as many as all wrote whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from reprokit import adapters, runs
from reprokit.core.comparison import Comparison, Tolerances, unreadable
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.errors import MetricsError
from reprokit.layout import METRICS

_SET_BY_TRAINING = frozenset({"flags", "cuda_flags"})


def common_records(stored: Sequence[runs.StoredRun]) -> int | None:
    """How many whole records all runs have, where one was stopped at the golden; None where none was.

    None too where another run did not end: then nothing is compared.
    """
    stopped = [runs.stopped_at_golden(run) for run in stored]
    if not any(stopped) or not all(run.complete or early for run, early in zip(stored, stopped, strict=True)):
        return None
    try:
        return min(adapters.whole_records(run.path / METRICS) for run in stored)
    except MetricsError:
        return 0


def recorded_at_start(environment: EnvironmentRecord) -> EnvironmentRecord:
    """An environment record without what a training sets when it has begun, such as deterministic algorithms.

    The record of a run that was stopped is from before that, a golden's from its end. What decides about
    these switches is compared besides: versions, variables, and the code that sets them.
    """
    inside = environment.get("inside")
    torch = inside.get("torch") if inside else None
    if not inside or not isinstance(torch, Mapping):
        return environment
    kept = {name: value for name, value in torch.items() if name not in _SET_BY_TRAINING}
    return {**environment, "inside": {**inside, "torch": kept}}


def compare_beginning(
    expected: Path, actual: Path, *, records: int, tolerances: Tolerances | None = None
) -> Comparison:
    """Compare the first records of two metrics files; what cannot be opened is a comparison of nothing."""
    try:
        return adapters.compare_first(expected, actual, records=records, tolerances=tolerances)
    except MetricsError as error:
        return unreadable(error, side="both")
