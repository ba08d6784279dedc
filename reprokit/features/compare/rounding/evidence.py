"""What run folders say of rounding: the rule applied to side a, side b and the twins of a."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.adapters.folders import run_files
from reprokit.compressed import stored
from reprokit.diagnosis import read_trace
from reprokit.errors import CannotJudgeError, MetricsError
from reprokit.features.compare.rounding.rule import (
    FACTOR,
    HORIZON,
    Finding,
    Judged,
    MetricFinding,
    bound_of,
    judged,
    together,
    unjudged,
)
from reprokit.features.compare.rounding.twin_runs import CONTROL_RATE, TwinRuns
from reprokit.harness.running.run_kinds import WATCH
from reprokit.instrumentation.reprokit_hook.rounding import CONTROL, FACT, MODULES, UPDATES
from reprokit.layout import METRICS, OUTPUT

Series = dict[str, adapters.Series]
SIDES_OF_COMPARE = ("a", "b")
#: What stands for an infinite ratio.
INFINITE = sys.float_info.max
#: The effect of a smaller change is in proportion to that of the control, but for so much.
_MARGIN = 2.0
BOTH_CHANGED = "code and environment both changed, which is never rounding: change one at a time"
_ENVIRONMENT = frozenset({"package", "python", "cpu", "device", "environment", "condition"})
_CODE = frozenset({"code", "setting", "recipe", "argument", "command"})


def series_of(
    folder: Path, names: Collection[str] | None = None, *, last_step: float | None = None
) -> Series:
    """The curves of the metrics that count; of all without names. A file of metrics is read as it is.

    Args:
        folder: A run, or a file of metrics.
        names: Which metrics count.
        last_step: Nothing that was logged at a later step counts; None where all of it does.

    Raises:
        MetricsError: They cannot be read.
    """
    is_one = folder.is_file()
    if is_one or (stored(folder / METRICS).is_file() and not run_files.is_of_plain_command(folder)):
        every = adapters.read_series(folder if is_one else folder / METRICS)
        return _up_to(last_step, {name: one for name, one in every.items() if names is None or name in names})
    found: Series = {}
    pairs, _ = adapters.pair_runs(folder, folder)
    for source, _ in pairs:
        prefix = f"{source.name}:" if len(pairs) > 1 else ""
        for name, one in adapters.read_series(source.path).items():
            if names is None or prefix + name in names:
                found[prefix + name] = one
    return _up_to(last_step, found)


def _up_to(last_step: float | None, series: Series) -> Series:
    if last_step is None:
        return series
    found = {}
    for name, one in series.items():
        kept = [at for at, step in enumerate(one.steps) if step <= last_step]
        found[name] = adapters.Series(
            steps=[one.steps[at] for at in kept], values=[one.values[at] for at in kept]
        )
    return found


def first_place(
    a: Path, b: Path, names: Collection[str], *, last_step: float | None = None
) -> tuple[int, int] | None:
    """The first record at which a metric differs, from 0, and its number of records; None where none does.

    With ``last_step`` later differences do not count; the number of records is still that of all.
    """
    one, two = series_of(a, names), series_of(b, names)
    places = []
    for name in sorted({*one} & {*two}):
        pairs = list(zip(one[name].values, two[name].values, strict=False))
        at = next((at for at, (left, right) in enumerate(pairs) if left != right), None)
        if at is not None and (last_step is None or one[name].steps[at] <= last_step):
            places.append((at, len(pairs)))
    return min(places, key=lambda place: place[0] / place[1]) if places else None


def updates_of(folder: Path) -> int:
    """How many updates of an optimizer, or trainings of trees, a run has made; 0 if it did not end well.

    Raises:
        CannotJudgeError: What it computes cannot be rounded from outside as the program itself rounds.
    """
    if not runs.read(folder).complete:
        return 0
    found = _facts(folder)
    _must_not_be_refused(found)
    return max((int(one["updates"]) or int(one["fits"]) for one in found), default=0)


def rounded_of(folder: Path) -> tuple[int, float]:
    """How many tensors a twin rounded, and the largest ε."""
    found = _facts(folder)
    return sum(int(one["rounded"]) for one in found), max((float(one["epsilon"]) for one in found), default=0)


def judged_with(
    a: Path,
    b: Path,
    twins: TwinRuns,
    names: Collection[str],
    *,
    sides: tuple[str, str] = SIDES_OF_COMPARE,
    last_step: float | None = None,
) -> Judged:
    """The rule on two sides and the twins of a, up to a step."""
    epsilon = max(rounded_of(one)[1] for one in twins.every_twin)
    first, other = (series_of(one, names, last_step=last_step) for one in (a, b))
    whole = [series_of(one, names, last_step=last_step) for one in twins.twins]
    values = {
        "twins": [_values(one) for one in whole],
        "short": [_beginning(series_of(one, names, last_step=last_step), first) for one in twins.short],
    }
    found = dict(judged(_values(first), _values(other), **values, epsilon=epsilon, sides=sides).metrics)
    found |= {
        name: unjudged(f"{sides[1]} has it at different steps")
        for name in {*first} & {*other}
        if first[name].steps != other[name].steps
    }
    return together(found)


def rounding_evidence(
    a: Path,
    b: Path,
    twins: TwinRuns,
    metrics: Mapping[str, Mapping[str, Any]],
    *,
    sides: tuple[str, str] = SIDES_OF_COMPARE,
    last_step: float | None = None,
) -> dict[str, Any]:
    """The answer on rounding as the report has it, about all metrics of ``compare``, up to a step.

    Raises:
        CannotJudgeError: A twin did not end, rounded nothing, or is no run of side a.
        MetricsError: Metrics cannot be read.
    """
    must_be_twins(a, twins)
    names = tuple(metrics)
    seen = judged_with(a, b, twins, names, sides=sides, last_step=last_step)
    no_numbers = {
        name: unjudged("it differs, and is not a number")
        for name, one in metrics.items()
        if one["mismatches"] and name not in seen.metrics
    }
    found = together({**seen.metrics, **no_numbers})
    finding, why = found.finding, ""
    control = resolution = None
    if finding is Finding.UNJUDGED:
        name, one = next(
            (name, one) for name, one in found.metrics.items() if one.finding is Finding.UNJUDGED
        )
        why = f"{name}: {one.why}"
    elif finding is Finding.ROUNDING:
        control, steady = _control(a, twins, names, until=found.until, last_step=last_step)
        if control is None:
            finding = Finding.UNJUDGED
            why = f"a learning rate {CONTROL_RATE - 1:.1%} higher would not have been seen"
        else:
            resolution = _MARGIN * (CONTROL_RATE - 1) * FACTOR / steady
    steps = series_of(a, names)
    return {
        "answer": str(finding),
        "why": why,
        "ratio": _finite(found.ratio),
        "bound": FACTOR,
        "horizon": HORIZON,
        "first": _first(found, steps),
        "until": found.until,
        "control": None if control is None else _finite(control),
        "resolution": resolution,
        "epsilon": max(rounded_of(one)[1] for one in twins.every_twin),
        "metrics": {name: _as_data(one) for name, one in found.metrics.items()},
        "runs": twins.as_data(),
    }


def last_judged_step(a: Path, b: Path, metrics: Mapping[str, Mapping[str, Any]]) -> float | None:
    """The last step up to which all of an answer's metrics are judged; None where nothing differs by then."""
    steps = series_of(a, tuple(metrics))
    ends = [(name, one["until"]) for name, one in metrics.items() if one["finding"] == Finding.UNJUDGED]
    if not ends or not all(name in steps and until for name, until in ends):
        return None
    last = min(steps[name].steps[until - 1] for name, until in ends)
    return None if first_place(a, b, tuple(metrics), last_step=last) is None else last


def must_be_twins(a: Path, twins: TwinRuns) -> None:
    """Refuse runs that are no twins of a, or no control.

    Raises:
        CannotJudgeError: One did not end, rounded nothing, or is a run of something else.
    """
    for folder in twins.every_twin:
        _must_be_of_kind(folder, {UPDATES, MODULES}, of=a)
    if twins.control is not None:
        _must_be_of_kind(twins.control, {CONTROL}, of=a)


def bounds(a: Path, twins: TwinRuns) -> dict[str, list[float]]:
    """Metric → the most that rounding explains, record by record, up to the horizon."""
    epsilon = max(rounded_of(one)[1] for one in twins.every_twin)
    others = [_values(series_of(one)) for one in twins.twins]
    first = series_of(a)
    short = [_beginning(series_of(one), first) for one in twins.short]
    found = {}
    for name, values in _values(first).items():
        same = [other[name] for other in others if len(other.get(name, ())) == len(values)]
        if len(same) == len(others):
            same += [one[name] for one in short if name in one]
            found[name] = bound_of(values, same, epsilon=epsilon)
    return found


def changed_both(differs: Sequence[Mapping[str, str]]) -> bool:
    """Whether the sides differ in what the program says and in what it runs on."""
    kinds = {one["kind"] for one in differs}
    return bool(kinds & _CODE) and bool(kinds & _ENVIRONMENT)


def _control(
    a: Path, twins: TwinRuns, names: Collection[str], *, until: int, last_step: float | None
) -> tuple[float | None, float]:
    """R of the control within the records that were judged, and before a jump: what smaller changes do.

    None and 0.0 where the rule does not see it.
    """
    if twins.control is None:
        return None, 0.0
    found = judged_with(a, twins.control, twins, names, last_step=last_step)
    seen = [
        one
        for one in found.metrics.values()
        if one.finding is Finding.DIFFERENT and one.at is not None and one.at < until
    ]
    return max((one.ratio for one in seen), default=None), max((one.steady for one in seen), default=0.0)


def _as_data(one: MetricFinding) -> dict[str, Any]:
    ratios = {"ratio": _finite(one.ratio), "steady": _finite(one.steady)}
    return {**asdict(one), "finding": str(one.finding), **ratios}


def _finite(ratio: float) -> float:
    """A number that JSON has, in place of infinity: what a side that is no longer finite gives."""
    return min(ratio, INFINITE)


def _first(found: Judged, steps: Series) -> dict[str, Any] | None:
    if found.first is None:
        return None
    name, at = found.first
    return {"metric": name, "record": at, "step": steps[name].steps[at]}


def _must_be_of_kind(folder: Path, kinds: Collection[str], *, of: Path) -> None:
    run, first = runs.read(folder), runs.read(of, verify=False).record
    if not run.complete:
        raise CannotJudgeError(f"a twin did not end: {run.record.message or run.incomplete_because}")
    if not rounded_of(folder)[0]:
        raise CannotJudgeError(f"a twin rounded nothing, so that it shows nothing: {folder}")
    _must_not_be_refused(_facts(folder))
    if not all(one["kind"] in kinds for one in _facts(folder)):
        raise CannotJudgeError(f"this run is not of the kind that its name says: {folder}")
    if (run.record.seed, run.record.digests) != (first.seed, first.digests):
        raise CannotJudgeError(f"this run has another seed or other inputs: {folder}")


def _must_not_be_refused(facts: Sequence[Mapping[str, Any]]) -> None:
    if refused := next((str(one["refused"]) for one in facts if one.get("refused")), ""):
        raise CannotJudgeError(f"no twin can be made: {refused}")


def _beginning(short: Series, whole: Series) -> dict[str, list[float]]:
    """What a run that was ended early has at the same steps: a last evaluation stands at another."""
    found = {}
    for name, one in short.items():
        steps = zip(one.steps, whole[name].steps if name in whole else (), strict=False)
        same = next((at for at, (left, right) in enumerate(steps) if left != right), len(one.steps))
        found[name] = list(one.values[:same])
    return found


def _values(series: Series) -> dict[str, list[float]]:
    return {name: list(one.values) for name, one in series.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFacts:
    """What the hook says of one process of a twin.

    Attributes:
        place: The folder of the trace.
        name: The fact's, with that of the process.
        facts: What it says.
    """

    place: Path
    name: str
    facts: Mapping[str, Any]


def named_facts(folder: Path) -> list[NamedFacts]:
    """What the hook says of each process of a twin."""
    found: list[NamedFacts] = []
    for place in (folder / WATCH, folder / OUTPUT / WATCH):
        with suppress(CannotJudgeError, MetricsError):
            facts = read_trace(place).facts
            found += [
                NamedFacts(place=place, name=name, facts=one)
                for name, one in facts.items()
                if name.startswith(FACT)
            ]
    return found


def _facts(folder: Path) -> list[Mapping[str, Any]]:
    return [one.facts for one in named_facts(folder)]
