"""Statistics over the seeds of recipes and sweeps; each further group of runs is compared with the first."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from reprokit import adapters, recipes, runs
from reprokit.adapters import MetricColumns
from reprokit.adapters.columns import Numbers
from reprokit.compressed import stored
from reprokit.core.comparing.metric_names import LOWER, better, results_first
from reprokit.core.statistics.windows import Window
from reprokit.errors import CannotJudgeError, ReprokitError, UsageError
from reprokit.features.sweeps.golden_curves import GoldenCurves, golden_curves
from reprokit.features.sweeps.runs_over_seeds import LeftOut, SeedGroup, group_of, inputs_of
from reprokit.features.sweeps.statistics import describe
from reprokit.features.sweeps.statistics.describe import Between, Curves, MetricStatistics
from reprokit.features.sweeps.statistics.ranking import Ranking, rank
from reprokit.harness.sweep import finished_runs
from reprokit.harness.sweeping.equal_results import equal_results
from reprokit.layout import METRICS, SWEEP, SWEEPS
from reprokit.project import Project
from reprokit.runs import sweeps
from reprokit.runs.sweeps import SweepMember, group_names, is_mixed

SHOWN_WINDOWS = ("last", "mean_last_10")
ALL_WINDOWS = (*SHOWN_WINDOWS, "best_high", "best_low", "auc", "auc_mean")
_EMPTY = SeedGroup(name="", members=(), again=(), left_out=(), digests={})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatistics:
    """A group, its metrics, and what is odd about its files."""

    group: SeedGroup
    metrics: tuple[MetricStatistics, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The settings of a sweep by one metric and window; the places are those of the groups.

    Attributes:
        direction: Which values are better: ``higher``, ``lower``, or "" where nothing says so: then higher
            values come first.
    """

    metric: str
    window: str
    direction: str
    ranking: Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The answer: every group, and each later group compared with the first, metric by metric.

    Attributes:
        groups: In the order in which they were asked for; of each the headline metric first.
        between: Names of both groups, and what differs.
        rankings: Of one sweep of several settings: by its headline metric, or those that were asked for.
        sweep: Its name; "" where other things, or several, were asked for.
        warnings: What is odd about its results: settings that change nothing.
        expected: The metrics that the recipes promise a result of.
    """

    groups: tuple[GroupStatistics, ...]
    between: tuple[tuple[str, str, tuple[Between, ...]], ...]
    bootstrap_seed: int
    rankings: tuple[Ranked, ...] = ()
    sweep: str = ""
    warnings: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()


def statistics(
    targets: Sequence[str],
    *,
    project: Project,
    windows: Sequence[str] = ALL_WINDOWS,
    metrics: Sequence[str] = (),
    like: str | None = None,
    seeds: Sequence[int] = (),
    bootstrap_seed: int = 0,
) -> Statistics:
    """Statistics of recipes and sweeps.

    Args:
        targets: Names of recipes that have runs, and folders of sweeps.
        project: Where runs are.
        windows: Names as ``core.statistics.windows`` has them.
        metrics: Patterns of the metrics; none means all.
        like: Of the recipes, only runs on the inputs of this run: an id, its beginning, or a path.
        seeds: Only runs with these seeds; none means all.
        bootstrap_seed: Of the generator of all resamples.

    Raises:
        UsageError: A window has no such name, or a target is neither a recipe with runs nor a sweep.
        CannotJudgeError: A recipe or sweep has no finished run, or two runs of one seed differ.
    """
    try:
        asked = [Window.parse(name) for name in dict.fromkeys(windows)]
    except ValueError as error:
        raise UsageError(str(error), where="--window") from error
    groups = [
        group for target in targets for group in _groups(target, project=project, like=like, seeds=seeds)
    ]
    if len(targets) > 1:  # what differs inside a sweep says nothing alongside another one
        groups = [replace(one, label="") for one in groups]
    generator = np.random.default_rng(bootstrap_seed)
    promised = _promised(groups, project=project)
    for pattern in metrics:
        names = dict.fromkeys(name for one in groups for name in _numbers_of(one))
        if not any(fnmatchcase(name, pattern) for name in names):
            raise adapters.fits_no_metric(pattern, names, option="--metric")
    found = tuple(
        _described(one, asked, patterns=metrics, expected=list(promised), generator=generator)
        for one in groups
    )
    pairs = tuple(
        (first.group.name, other.group.name, tuple(_between(first, other, generator=generator)))
        for first, other in _compared(found)
    )
    record = _sweep_of(targets[0], project=project) if len(targets) == 1 else None
    return Statistics(
        groups=found,
        between=pairs,
        bootstrap_seed=bootstrap_seed,
        rankings=tuple(_ranked(found, promised, all_metrics=bool(metrics))) if record else (),
        sweep=(record if record.is_dir() else record.parent).resolve().name if record else "",
        warnings=_warnings(record) if record else (),
        expected=tuple(promised),
    )


def _promised(groups: Sequence[SeedGroup], *, project: Project) -> dict[str, str]:
    """The metrics that the groups' recipes promise a result of, and which of their values are better, or "".

    A first step has a direction of its own, which says nothing of the metric's values.
    """
    found: dict[str, str] = {}
    for name in dict.fromkeys(group.name.split(maxsplit=1)[0] for group in groups):
        with suppress(ReprokitError):  # the runs of a recipe may outlive it
            recipe = recipes.load(name, recipes_dir=project.recipes_dir)
            found |= {metric: better(metric) for metric in recipe.expected}
            for one in recipe.statistical:
                if Window.parse(one.window).better:
                    found.setdefault(one.metric, better(one.metric))
                else:
                    found[one.metric] = one.direction
    return found


def _ranked(
    found: Sequence[GroupStatistics], promised: Mapping[str, str], *, all_metrics: bool
) -> Iterator[Ranked]:
    """The groups by the first metric that they have in common, or by all of them."""
    having = [one for one in found if one.metrics]
    kinds = {(one.group.kind, one.group.is_mixed) for one in having}
    if len(found) < 2 or not having or len(kinds) > 1 or (having[0].group.is_mixed):
        return
    common = [
        one.metric
        for one in having[0].metrics
        if all(one.metric in {other.metric for other in group.metrics} for group in having)
    ]
    for metric in common if all_metrics else common[:1]:
        window = having[0].metrics[0].windows[0].window
        values = [_values(one, metric, window) for one in found]
        direction = Window.parse(window).better or promised.get(metric) or better(metric)
        ranking = rank(values, higher_is_better=direction != LOWER)
        yield Ranked(metric=metric, window=window, direction=direction, ranking=ranking)


def _values(one: GroupStatistics, metric: str, window: str) -> Mapping[int, float]:
    """Seed → number, of a group; nothing where no mean of them can be had."""
    if all(each.metric != metric for each in one.metrics):
        return {}
    found = next(each for each in one.metrics if each.metric == metric).of(window)
    return {} if found.summary.mean is None else found.values


def _warnings(record: Path) -> tuple[str, ...]:
    folder = (record if record.is_dir() else record.parent).resolve()
    return equal_results(tuple(finished_runs(record).folders), runs_dir=folder.parents[1])


def _compared(found: Sequence[GroupStatistics]) -> Iterator[tuple[GroupStatistics, GroupStatistics]]:
    """Each later group with the first one of its kind of machines; a mixed one with none."""
    first: dict[str, GroupStatistics] = {}
    for one in found:
        if one.group.is_mixed:
            continue
        if one.group.kind in first:
            yield first[one.group.kind], one
        first.setdefault(one.group.kind, one)


def goldens_of(found: Statistics, *, project: Project) -> dict[str, GoldenCurves]:
    """The golden that is drawn next to each group that has one, by the group's name."""
    named = {
        group.group.name: golden_curves(group.group, golden_dir=project.golden_dir)
        for group in found.groups
        if not group.group.is_mixed
    }
    return {name: golden for name, golden in named.items() if golden is not None}


def _sweep_of(target: str, *, project: Project) -> Path | None:
    """The record of the sweep that is meant; None where it is a recipe."""
    places = (Path(target), project.runs_dir / SWEEPS / target)
    return next((place for place in places if (place / SWEEP).is_file() or place.name == SWEEP), None)


def _groups(target: str, *, project: Project, like: str | None, seeds: Sequence[int]) -> Iterator[SeedGroup]:
    if record := _sweep_of(target, project=project):
        for group in _groups_of_sweep(record):
            members = tuple(one for one in group.members if not seeds or one.seed in seeds)
            yield replace(group, members=members)
        return
    folders = runs.list_all(project.runs_dir, recipe=target)
    if not folders:
        raise UsageError(
            "no run has this recipe, and no sweep has this folder",
            where=str(project.runs_dir),
            actual=repr(target),
            fix=_meant(target, project.runs_dir) or "`reprokit runs list` shows the recipes that have runs",
        )
    if seeds:
        folders = [one for one in folders if runs.read(one, verify=False).record.seed in seeds]
    chosen = None if like is None else runs.find(project.runs_dir, like)
    group = group_of(folders, name=target, like=chosen)
    yield replace(group, inputs=inputs_of(group, like=chosen))


def _meant(target: str, runs_dir: Path) -> str:
    """The recipe with runs, or the sweep, whose name is nearly what was typed."""
    there = [path.name for folder in (runs_dir, runs_dir / SWEEPS) for path in folder.glob("*/")]
    return next((f"did you mean {name!r}?" for name in difflib.get_close_matches(target, there, n=1)), "")


def _groups_of_sweep(record: Path) -> Iterator[SeedGroup]:
    """The members of a sweep, by recipe and settings; those without a finished run are named."""
    found = finished_runs(record)
    runs_dir = (record if record.is_dir() else record.parent).resolve().parents[1]
    if not found.folders:
        raise CannotJudgeError(
            "no member of the sweep is finished",
            where=str(record),
            actual="; ".join(map(_why_missing, found.missing[:3])),
            fix="`reprokit sweep`, as it was typed before, tries them again",
        )
    labels = group_names((*found.folders, *found.missing))
    for name in dict.fromkeys(one.group for one in sweeps.read(record)):
        members = {one: folder for one, folder in found.folders.items() if one.group == name}
        mixed = is_mixed(tuple(members))
        group = group_of(list(members.values()), name=name, mixed=mixed) if members else _EMPTY
        absent = [
            LeftOut(folder=runs_dir / (member.run or member.recipe), reason=_why_missing(member))
            for member in found.missing
            if member.group == name
        ]
        label = labels[name] if len(labels) > 1 else ""
        yield replace(group, name=name, label=label, left_out=(*group.left_out, *absent))


def _why_missing(member: SweepMember) -> str:
    return ": ".join(filter(None, (f"seed {member.seed}", str(member.state), member.message)))


def _described(
    group: SeedGroup,
    windows: Sequence[Window],
    *,
    patterns: Sequence[str],
    expected: Sequence[str],
    generator: np.random.Generator,
) -> GroupStatistics:
    found = [(member.seed, _read(member.folder)) for member in group.members]
    names = dict.fromkeys(name for _, columns in found for name in columns.series)
    idle = {name for name in names if all(map(_is_idle, (columns.series.get(name) for _, columns in found)))}
    ordered = results_first(names, expected=expected, idle=idle)
    wanted = [
        name for name in ordered if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    curves = []
    for name in wanted:
        having = [(seed, columns.series[name]) for seed, columns in found if name in columns.series]
        curves.append(
            Curves(
                metric=name,
                seeds=tuple(seed for seed, _ in having),
                steps=tuple(steps for _, (steps, _) in having),
                values=tuple(values for _, (_, values) in having),
            )
        )
    described = describe.describe(curves, windows=windows, generator=generator)
    return GroupStatistics(group=group, metrics=tuple(described), notes=tuple(_notes(found, curves)))


def _numbers_of(group: SeedGroup) -> Iterator[str]:
    """The metrics of a group's runs that are numbers."""
    return (name for member in group.members for name in _read(member.folder).series)


def _is_idle(series: tuple[Numbers, Numbers] | None) -> bool:
    """Whether a metric has several values in a run, which are one and the same."""
    return series is None or (len(series[1]) > 1 and bool((series[1] == series[1][0]).all()))


def _read(folder: Path) -> MetricColumns:
    """Every metric of a run; of several sources, names begin with ``file:``."""
    if stored(folder / METRICS).exists():
        return adapters.read_columns(folder / METRICS)
    sources = adapters.find_all(folder)
    if not sources:
        raise adapters.no_metrics(folder)
    found = [
        (f"{source.name}:" if len(sources) > 1 else "", adapters.read_columns(source.path))
        for source in sources
    ]
    return MetricColumns(
        series={prefix + name: one for prefix, columns in found for name, one in columns.series.items()},
        not_numbers={
            prefix + name: count for prefix, columns in found for name, count in columns.not_numbers.items()
        },
        num_unreadable=sum(columns.num_unreadable for _, columns in found),
    )


def _notes(found: Sequence[tuple[int, MetricColumns]], curves: Sequence[Curves]) -> Iterator[str]:
    every = {seed for seed, _ in found}
    for curve in curves:
        missing = sorted(every - set(curve.seeds))
        if missing:
            yield f"{curve.metric}: seeds without a value, so not counted: {', '.join(map(str, missing))}"
    texts = dict.fromkeys(name for _, columns in found for name in columns.not_numbers)
    if texts:
        yield f"no numbers, so no statistics: {', '.join(texts)}"
    for seed, columns in found:
        if columns.num_unreadable:
            yield f"seed {seed}: {columns.num_unreadable} records cannot be read"


def _between(
    first: GroupStatistics, second: GroupStatistics, *, generator: np.random.Generator
) -> Iterator[Between]:
    theirs = {metric.metric: metric for metric in second.metrics}
    for metric in first.metrics:
        if metric.metric in theirs:
            for window in metric.windows:
                other = theirs[metric.metric].of(window.window)
                yield describe.between(window, other, metric=metric.metric, generator=generator)
