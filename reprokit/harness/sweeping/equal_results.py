"""Settings of a sweep that change no result: a variable that the program never reads, say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit import adapters, runs
from reprokit.core import problems
from reprokit.core.comparing.clock_metrics import speaks_of_time
from reprokit.core.setting_names import differences
from reprokit.errors import MetricsError
from reprokit.harness.judging.differences.clock_evidence import only_the_clock
from reprokit.layout import METRICS
from reprokit.runs.sweeps import MemberState, SweepMember

_MOST_NAMED = 6
_MOST_GROUPS = 2_000  # each is compared with all others


def equal_results(members: Sequence[SweepMember], *, runs_dir: Path) -> tuple[str, ...]:
    """A sentence for each setting that changes nothing, and for other settings whose results are equal.

    Results are equal where all metrics are, with every seed that both settings have finished; but for metrics
    of the clock, those that the recipe calls volatile, and those that only repeat a setting.

    Args:
        members: Those of a sweep or search; those that are not finished say nothing.
        runs_dir: Where their runs are.
    """
    found: dict[tuple[str, str], dict[str, list[SweepMember]]] = {}
    for member in members:
        if member.state is MemberState.COMPLETE and not member.mixed:
            found.setdefault((member.recipe, member.kind), {}).setdefault(member.group, []).append(member)
    several = [list(groups.values()) for groups in found.values() if 1 < len(groups) <= _MOST_GROUPS]
    return tuple(told for groups in several for told in _of_one_recipe(groups, runs_dir=runs_dir))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outline:
    """Of a run: metric → its last value, and whether it has no other."""

    last: Mapping[str, float]
    constant: frozenset[str]

    def may_equal(self, other: _Outline) -> bool:
        """Whether nothing here shows that the runs differ; much cheaper than to compare them."""
        constant = self.constant & other.constant
        return self.last.keys() == other.last.keys() and all(
            value == other.last[name] or name in constant or speaks_of_time(name) or value != value  # noqa: PLR0124
            for name, value in self.last.items()
        )


def _of_one_recipe(groups: Sequence[Sequence[SweepMember]], *, runs_dir: Path) -> Iterator[str]:
    apart = differences([group[0].settings for group in groups])
    classes, repeated = _classes(groups, apart, runs_dir=runs_dir)
    class_of = {at: number for number, one in enumerate(classes) for at in one}
    idle = [name for name in (apart[0] if apart else ()) if _changes_nothing(name, apart, class_of)]
    seeds = sorted({one.seed for group in groups for one in group})
    every = f"every seed ({_listed(seeds)})" if len(seeds) > 1 else f"seed {seeds[0]}"
    but = f", except for {_listed(sorted(repeated))}, which repeats what was set" if repeated else ""
    for name in idle:
        given = dict.fromkeys(one[name] or f"none of {name}" for one in apart)
        values = sorted(given, key=_by_number)  # trials side by side end in any order
        if len(numbers := {_number(one) for one in values}) == 1 and None not in numbers:
            yield f"{_listed(values)} are one number: with {every}, their results are equal{but}"
            continue
        yield (
            f"{name} changes nothing: with {every}, the results of {_listed(values)} are equal{but}. "
            "Does the program read it?"
        )
    for one in classes:
        rest = (
            " ".join(filter(None, (text for name, text in apart[at].items() if name not in idle)))
            for at in one
        )
        names = list(dict.fromkeys(rest))
        if len(names) > 1:
            yield f"with {every}, the results of {_listed(names)} are equal{but}"


def _classes(
    groups: Sequence[Sequence[SweepMember]], apart: Sequence[Mapping[str, str]], *, runs_dir: Path
) -> tuple[list[list[int]], set[str]]:
    """The places of groups with equal results together, and the metrics that only repeat a setting."""
    outlines = [_outline(runs_dir / group[0].run) for group in groups]
    classes: list[list[int]] = []
    repeated: set[str] = set()
    for at, mine in enumerate(outlines):
        for known in classes:
            theirs, numbers = outlines[known[0]], _numbers(apart[at]) | _numbers(apart[known[0]])
            if (
                mine is None
                or theirs is None
                or (groups[at][0].seed == groups[known[0]][0].seed and not mine.may_equal(theirs))
            ):
                continue
            differing = _differing(groups[known[0]], groups[at], runs_dir=runs_dir)
            if differing is not None and all(_repeats(name, mine, theirs, numbers) for name in differing):
                known.append(at)
                repeated |= differing
                break
        else:
            classes.append([at])
    return classes, repeated


def _changes_nothing(name: str, apart: Sequence[Mapping[str, str]], class_of: Mapping[int, int]) -> bool:
    """Whether settings that differ in nothing else always have equal results; there are some."""
    found: dict[tuple[str, ...], list[int]] = {}
    for at, one in enumerate(apart):
        found.setdefault(tuple(text for other, text in one.items() if other != name), []).append(class_of[at])
    sizes = [len(one) for one in found.values()]
    return max(sizes) > 1 and all(len(set(one)) == 1 for one in found.values())


def _differing(
    first: Sequence[SweepMember], other: Sequence[SweepMember], *, runs_dir: Path
) -> set[str] | None:
    """The metrics, not of the clock, that differ with some seed; None where runs cannot be compared so."""
    theirs = {one.seed: one for one in other}
    pairs = [(runs_dir / one.run, runs_dir / theirs[one.seed].run) for one in first if one.seed in theirs]
    found: set[str] = set()
    for pair in pairs:
        try:
            comparison, _ = adapters.compare_paths(*pair, ignore=_volatile(pair[0]))
        except MetricsError:
            return None
        if comparison.identical:
            continue
        differing = {name for name, one in comparison.per_metric.items() if one.mismatches}
        odd = any(problem.severity != problems.WARNING for problem in comparison.problems)
        if odd or not differing or differing == set(comparison.per_metric):
            return None
        found |= set() if only_the_clock([pair], [comparison]) else differing
    return found if pairs else None


def _repeats(name: str, mine: _Outline, theirs: _Outline, numbers: set[float]) -> bool:
    """Whether a metric says nothing but what was set: it never changes within a run, where others do."""
    if not (name in mine.constant and name in theirs.constant):
        return False
    return len(mine.constant) < len(mine.last) or {mine.last[name], theirs.last[name]} <= numbers


def _outline(folder: Path) -> _Outline | None:
    try:
        series = adapters.read_columns(folder / METRICS).series
    except MetricsError:
        return None
    last = {name: float(values[-1]) for name, (_, values) in series.items() if len(values)}
    constant = {name for name in last if (series[name][1] == last[name]).all()}
    return _Outline(last=last, constant=frozenset(constant)) if last else None


def _volatile(folder: Path) -> tuple[str, ...]:
    found = runs.read(folder, verify=False).record.volatile
    return tuple(found) if isinstance(found, Mapping) else ()


def _numbers(apart: Mapping[str, str]) -> set[float]:
    return {number for number in map(_number, apart.values()) if number is not None}


def _number(text: str) -> float | None:
    try:
        return float(text.rpartition("=")[2])
    except ValueError:
        return None


def _by_number(value: str) -> tuple[bool, float]:
    number = _number(value)
    return number is None, number or 0.0


def _listed(names: Sequence[object]) -> str:
    """``1, 2 and 3``; of many the first ones."""
    texts = [*map(str, names[:_MOST_NAMED])]
    if len(names) > _MOST_NAMED:
        return f"{', '.join(texts)} and {len(names) - _MOST_NAMED} more"
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
