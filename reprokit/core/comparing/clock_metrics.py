"""Which metrics are the wall clock's: durations, rates and time stamps, by their numbers and their names.

A name alone shows nothing: a metric is the clock's only if the numbers of both runs fit the times at which
these runs were made. Where they fit by chance, as a loss may, its name does not.

    >>> hour = Curve(steps=(100.0, 200.0), values=(10.0, 9.0))
    >>> kind_of("time/fps", hour, Curve(steps=(100.0, 200.0), values=(11.0, 8.0)), spans=((0, 25), (0, 26)))
    'rate'
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from itertools import pairwise

#: How long a run took, from when to when: seconds since the epoch.
Span = tuple[float, float]

_RATES = frozenset(["fps", "sps", "per", "speed", "throughput", "rate"])
#: Of these a rate is one without a look at its numbers: a learning rate and a loss per token are none.
_SURE_RATES = frozenset(["fps", "sps", "wps", "ups", "tps", "speed", "throughput", "mfu"])
LEFT = frozenset(["eta", "remaining"])
_STAMPS = frozenset(["timestamp", "date", "datetime"])
_MEMORY = frozenset(["memory", "mem", "rss", "vram"])
#: What is counted and not measured, though it may stand in a group called ``time``.
_COUNTED = frozenset(["steps", "timesteps", "iterations", "episodes", "epochs", "updates"])
_TIMES = frozenset(
    [
        *("clock", "wall", "walltime", "wallclock", "time", "times", "timestamp", "elapsed", "duration"),
        "timing",
        *("runtime", "latency", "sec", "secs", "second", "seconds", "ms", "minutes", "hours"),
    ]
)
UNITS_S = {"ms": 1e-3, "minutes": 60.0, "hours": 3600.0}
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
#: A run's time is measured around it, and what a program prints is rounded.
SLACK, _LEAST_SHARE, _SAME_WORK = 1.05, 0.02, 0.02
#: Of a run that is over in a moment, imports take nearly all: this long, and a clock was read.
_LEAST_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCurve:
    """The numbers of one metric in one run, with their steps."""

    steps: Sequence[float]
    values: Sequence[float]


def kind_of(
    name: str,
    first: MetricCurve,
    other: MetricCurve,
    *,
    spans: tuple[Span, Span],
    durations: Iterable[Sequence[MetricCurve]] = (),
) -> str:
    """What a metric that differs between two runs is of the clock: ``rate``, ``duration`` or ``time stamp``.

    Args:
        name: The metric's, whose words must speak of time.
        first: Its numbers in one run.
        other: And in the other.
        spans: When either run was made.
        durations: Metrics of both runs that are durations: a rate times one of them is the work done.

    Returns:
        The kind, or "" where the numbers do not fit the runs' times.
    """
    words = words_of(name)
    curves = (first, other)
    sound = all(curve.values and all(0 <= value < float("inf") for value in curve.values) for curve in curves)
    if not sound or len(first.values) != len(other.values) or not _differ_throughout(*curves):
        return ""
    both = list(zip(curves, spans, strict=True))
    if words & _RATES:
        fits = all(_is_rate(one, span) for one, span in both)
        return "rate" if fits or any(_same_work(curves, duration) for duration in durations) else ""
    if words & LEFT:
        unit = next((UNITS_S[word] for word in words if word in UNITS_S), 1.0)
        return "time left" if all(_is_time_left(one, span, unit=unit) for one, span in both) else ""
    if not words & _TIMES:
        return "duration" if _is_called_t(name) and all(_is_since_begun(*one) for one in both) else ""
    unit = next((UNITS_S[word] for word in words if word in UNITS_S), 1.0)
    is_stamp = all(_is_stamp(one, span) for one, span in both)
    if not is_stamp and all(_is_duration(one, span, unit=unit) for one, span in both):
        return "duration"
    return "time stamp" if is_stamp or _have_one_origin(both, unit=unit) else ""


def speaks_of_time(name: str) -> bool:
    """Whether a metric's name has a word for a time or a rate."""
    return bool(words_of(name) & (_TIMES | _RATES)) or _is_called_t(name)


def kind_by_name(name: str) -> str:
    """What a metric is by its name: as ``kind_of``, ``time left``, ``memory``; "" where it tells of none.

    That is enough for an advice that someone reads, not for leaving a metric out.
    """
    group, _, leaf = re.split(":", name)[-1].rpartition("/")
    words = words_of(leaf)
    of_group = words_of(group.rpartition("/")[2])
    if words & _SURE_RATES or ("per" in words and words & {"second", "seconds", "sec", "s"}):
        return "rate"
    for kind, known in (
        ("time left", LEFT),
        ("time stamp", _STAMPS),
        ("duration", _TIMES),
        ("memory", _MEMORY),
    ):
        if words & known and not (known is _TIMES and words & _COUNTED and not words & {"time", "elapsed"}):
            return kind
    return "duration" if of_group & _TIMES and not words & _COUNTED else ""


def words_of(name: str) -> set[str]:
    """The words of a metric's name: ``train_samples_per_second`` and ``trainTime`` have several."""
    return {word.lower() for word in _PARTS.findall(name)}


def patterns_for(names: Iterable[str]) -> tuple[str, ...]:
    """Patterns that leave metrics out: a group's name where they are several of one that speaks of time."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.rpartition("/")[0], []).append(name)
    found: list[str] = []
    for group, members in groups.items():
        if len(members) > 1 and words_of(group.rpartition("/")[2]) & _TIMES:
            found.append(f"{escape(group)}/*")
        else:
            found += map(escape, members)
    return tuple(found)


def options(names: Iterable[str]) -> str:
    """Options of the command line that leave metrics out."""
    return " ".join(f"--ignore-metric {shlex.quote(pattern)}" for pattern in patterns_for(names))


def volatile(names: Iterable[str]) -> str:
    """What a recipe declares to leave metrics out.

    >>> volatile(["seconds"])
    'volatile: [{metric: "seconds", because: measures time}]'
    """
    each = (f"{{metric: {json.dumps(one)}, because: measures time}}" for one in patterns_for(names))
    return f"volatile: [{', '.join(each)}]"


def sentence(kinds: Mapping[str, str]) -> str:
    """Which metrics are the clock's: ``time/fps (rate) and time/time_elapsed (duration)``."""
    each = [f"{name} ({kind})" for name, kind in kinds.items()]
    return " and ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)


def _differ_throughout(first: MetricCurve, other: MetricCurve) -> bool:
    """Whether most values differ, as no two readings of a clock are equal but for their rounding."""
    pairs = list(zip(first.values, other.values, strict=True))
    coarse = all(value == int(value) for pair in pairs for value in pair)
    return coarse or 2 * sum(one != two for one, two in pairs) >= len(pairs)


def _is_stamp(curve: MetricCurve, span: Span) -> bool:
    return all(span[0] - 1 <= value <= span[1] + 1 for value in curve.values)


def _have_one_origin(both: Sequence[tuple[MetricCurve, Span]], *, unit: float) -> bool:
    """Whether runs made one after another log times since one moment, as a monotonic clock does."""
    earliest, latest = [], []
    for curve, span in both:
        seconds = [unit * value for value in curve.values]
        if any(one > two for one, two in pairwise(seconds)):
            return False
        earliest.append(span[0] - seconds[0])
        latest.append(span[1] - seconds[-1])
    begun, ended = zip(*(span for _, span in both), strict=True)
    return max(begun) >= min(ended) and max(earliest) <= min(latest) + 1


def _is_duration(curve: MetricCurve, span: Span, *, unit: float) -> bool:
    """Durations of stretches of the run, or the time since its beginning."""
    seconds = [unit * value for value in curve.values]
    in_all = sum(seconds) <= SLACK * (span[1] - span[0])
    return max(seconds) > 0 and (in_all or _is_since_begun(replace(curve, values=seconds), span))


def _is_time_left(curve: MetricCurve, span: Span, *, unit: float) -> bool:
    """What a program expects that the rest takes: at the end no more than the run took."""
    return max(curve.values) > 0 and unit * curve.values[-1] <= SLACK * (span[1] - span[0])


def _is_called_t(name: str) -> bool:
    """Whether a metric is called ``t`` and nothing else, as in the files of Stable-Baselines3's monitors."""
    return re.split("[:/]", name)[-1] == "t"


def _is_since_begun(curve: MetricCurve, span: Span) -> bool:
    """Times since the run began."""
    rises = all(one <= two for one, two in pairwise(curve.values))
    return rises and 0 < curve.values[-1] <= SLACK * (span[1] - span[0])


def _is_rate(curve: MetricCurve, span: Span) -> bool:
    """Steps a second since the beginning, or since the record before: either gives times that fit the run."""
    most = span[1] - span[0]
    least = min(_LEAST_SHARE * most, _LEAST_S)
    if len(curve.values) < 2 or not all(curve.values) or not all(curve.steps):  # one record proves nothing
        return False
    since_begun = [step / value for step, value in zip(curve.steps, curve.values, strict=True)]
    rounding = [1 + 1 / max(1.0, value) for value in curve.values]
    rises = all(
        one <= two * more for (one, two), more in zip(pairwise(since_begun), rounding[1:], strict=True)
    )
    if rises and least <= since_begun[-1] <= SLACK * most * rounding[-1]:
        return True
    apart = [two - one for one, two in pairwise((0.0, *curve.steps))]
    between = sum(gap / value for gap, value in zip(apart, curve.values, strict=True))
    return min(apart) > 0 and least <= between <= SLACK * most


def _same_work(rates: Sequence[MetricCurve], durations: Sequence[MetricCurve]) -> bool:
    """Whether rate times duration is the same in both runs, record by record, though neither is."""
    if len({len(one.values) for one in (*rates, *durations)}) != 1:
        return False
    work = [
        [rate * took for rate, took in zip(one.values, two.values, strict=True)]
        for one, two in zip(rates, durations, strict=True)
    ]
    return all(abs(one - two) <= _SAME_WORK * max(one, two) for one, two in zip(*work, strict=True))
