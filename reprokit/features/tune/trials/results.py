"""What a run of a trial came to, read from its folder: its number, its reports on the way, or why not."""

from __future__ import annotations

import difflib
import json
import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reprokit import adapters, runs
from reprokit.adapters import MetricColumns, from_jsonl
from reprokit.core.records import Outcome
from reprokit.core.run_record import RunRecord
from reprokit.errors import CannotRunError, MetricsError, UsageError
from reprokit.features.tune.definition import NO_PRUNER, Definition, Objective
from reprokit.harness.running.run_inputs import RunInputs, WholeRunFolder
from reprokit.harness.sweeping.results import chosen_return
from reprokit.layout import METRICS, OUTPUT
from reprokit.recipes import Recipe
from reprokit.runs.sweeps import MemberState, state_of

#: How a run may end that says something of its settings; any other end says something of the machine.
_FAILURES = frozenset({Outcome.CRASHED, Outcome.SIGNALLED, Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT})
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusableRun:
    """A run that need not be made again.

    Attributes:
        folder: Its folder.
        state: ``COMPLETE``, ``CRASHED``, or ``PRUNED``: stopped early by an earlier call.
        curve: What it reported of the metric that the pruner watches; empty without a pruner.
        value: The number that is searched for; None where it has none.
        message: Why it has none, one sentence that holds no path, or "".
        lacks: That a finished run never logged the metric that was asked for; None where it did.
    """

    folder: Path
    state: MemberState
    curve: tuple[float, ...] = ()
    value: float | None = None
    message: str = ""
    lacks: UsageError | None = None


def ended_runs(
    inputs: RunInputs,
    seed: int,
    *,
    among: Sequence[WholeRunFolder],
    does_not_count: Callable[[Path], object] = lambda _folder: None,
) -> list[tuple[Path, MemberState]]:
    """The runs of some inputs and a seed that have ended by themselves or were pruned, oldest first.

    Args:
        inputs: What they depend on, except for the seed.
        seed: The seed.
        among: The runs that there are.
        does_not_count: Told of a run of these that was changed after it had ended.
    """
    found: list[tuple[Path, MemberState]] = []
    for one in among:
        if one.seed == seed and one.is_attempt_at(inputs):
            stored = runs.read(one.path)
            state = state_of(stored)
            if state is MemberState.CHANGED:
                does_not_count(one.path)
            if state is MemberState.CRASHED and stored.record.outcome not in _FAILURES:
                continue  # it is made again
            if state in {MemberState.CRASHED, MemberState.PRUNED} or (
                state is MemberState.COMPLETE and one.inputs == inputs
            ):
                found.append((one.path, state))
    return found


def read_ended(folder: Path, state: MemberState, *, definition: Definition, recipe: Recipe) -> ReusableRun:
    """A run that has ended, with its number and its curve."""
    pruned = definition.pruner != NO_PRUNER
    curve = tuple(curve_of(folder, definition=definition, recipe=recipe)) if pruned else ()
    if state is not MemberState.COMPLETE:
        message = _ending(runs.read(folder, verify=False).record)
        return ReusableRun(folder=folder, state=state, curve=curve, message=message)
    try:
        columns = adapters.read_columns(folder / METRICS)
    except MetricsError as error:
        return ReusableRun(folder=folder, state=state, curve=curve, message=error.what)
    value, message = _value_of(columns, objective=definition.objective, recipe=recipe)
    lacks = _lacking(columns, definition, recipe=recipe)
    return ReusableRun(folder=folder, state=state, curve=curve, value=value, message=message, lacks=lacks)


def _lacking(columns: MetricColumns, definition: Definition, *, recipe: Recipe) -> UsageError | None:
    """That a metric which was asked for is not among those of a finished run, with those that are."""
    asked = {"--metric": definition.objective.metric}
    if definition.pruner != NO_PRUNER and definition.watched is not None:
        asked["--pruner-metric"] = definition.watched
    for option, name in asked.items():
        if name is None:
            if columns.series and chosen_return(dict.fromkeys(columns.series, 0.0), recipe) is None:
                return _not_logged("no metric is called a return, reward, score or accuracy", option, columns)
        elif name not in columns.series:
            is_text = " as a number" if name in columns.not_numbers else ""
            return _not_logged(f"the program never logs {name!r}{is_text}", option, columns, name=name)
    return None


def _not_logged(what: str, option: str, columns: MetricColumns, *, name: str = "") -> UsageError:
    near = difflib.get_close_matches(name, columns.series, n=_MOST_NAMES, cutoff=0.4)
    names = list(dict.fromkeys([*near, *columns.series]))
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    first = shlex.quote(names[0]) if names else "NAME"
    return UsageError(
        what,
        where=option,
        expected=f"one of {', '.join(names[:_MOST_NAMES])}{more}" if names else "a program that logs numbers",
        fix=f"{option} {first}, say; the runs that have ended are kept and used again",
    )


def _value_of(columns: MetricColumns, *, objective: Objective, recipe: Recipe) -> tuple[float | None, str]:
    """The number of a finished run; None and why where it has none."""
    name = objective.metric
    if name is None:
        last = {key: float(values[-1]) for key, (_, values) in columns.series.items() if len(values)}
        found = chosen_return(last, recipe)
        if found is None:
            return None, "no metric is called a return, reward, score or accuracy: name one with --metric"
        name = found[0]
    if name not in columns.series:
        return None, f"no metric is called {name}"
    steps, values = columns.series[name]
    windowed = objective.window.of(steps, values[np.newaxis, :])
    value = float(windowed.values[0])
    if math.isfinite(value):
        return value, ""
    return None, f"{name}, {objective.window.name}: {windowed.refused or f'it is {value}'}"


def must_be_of_its_settings(folder: Path) -> None:
    """Refuse a run whose end says nothing of its settings: it is no result, and no failed trial.

    Raises:
        CannotRunError: It could not start, or the machine failed it.
    """
    stored = runs.read(folder, verify=False)
    outcome = stored.record.outcome
    if not stored.complete and outcome not in {*_FAILURES, Outcome.PRUNED}:
        raise CannotRunError(
            stored.incomplete_because or f"the run ended as {outcome}",
            where=str(folder),
            fix=stored.record.remedy or "type the same command again",
        )


def curve_of(folder: Path, *, definition: Definition, recipe: Recipe) -> list[float]:
    """The reports in the whole lines of a run's metrics, also of one that is under way or was stopped.

    Those of an unmodified program come from the only log that it writes, where that is JSON Lines; of any
    other one they are there when it has ended.
    """
    found = []
    watched = definition.watched or definition.objective.metric
    for line in _whole_lines(folder, recipe=recipe):
        try:
            record = json.loads(line)
        except ValueError:
            return []
        if isinstance(record, dict):
            value = _value_in(record, watched, recipe=recipe)
            if value is not None:
                found.append(value)
    return found


def _whole_lines(folder: Path, *, recipe: Recipe) -> list[bytes]:
    file = _log_of_program(folder / OUTPUT) if recipe.program else folder / OUTPUT / METRICS
    if file is None or not file.is_file():
        file = folder / METRICS
    try:
        return file.read_bytes().split(b"\n")[:-1]
    except OSError:
        return []


def _log_of_program(output: Path) -> Path | None:
    """The only source of metrics that a program writes, where that is JSON Lines."""
    sources = adapters.find_all(output) if output.is_dir() else []
    return sources[0].path if len(sources) == 1 and sources[0].adapter == from_jsonl.NAME else None


def _value_in(record: dict[str, object], watched: str | None, *, recipe: Recipe) -> float | None:
    if watched is None:
        found = chosen_return(record, recipe)
        return found[1] if found else None
    value = record.get(watched)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def _ending(record: RunRecord) -> str:
    """How a run ended, without what may differ from one run of it to the next."""
    outcome = (record.outcome or "").replace("_", " ")
    code, signal = record.exit_code, record.signal
    how = f"signal {signal}" if signal else f"exit code {code}" if code is not None else ""
    return f"{outcome}: {how}" if how else outcome
