"""Statistics over the seeds of recipes and sweeps; each further group of runs is held against the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from reprokit import adapters, runs
from reprokit.adapters import Columns
from reprokit.compressed import stored
from reprokit.core.statistics import describe
from reprokit.core.statistics.describe import Between, Curves, MetricStatistics
from reprokit.core.statistics.windows import Window
from reprokit.errors import CannotJudgeError, UsageError
from reprokit.harness.judging.golden_curves import GoldenCurves, golden_curves
from reprokit.harness.judging.runs_over_seeds import Group, LeftOut, group_of
from reprokit.harness.sweep import finished_runs
from reprokit.layout import METRICS, SWEEP, SWEEPS
from reprokit.project import Project
from reprokit.runs.sweeps import Member, is_mixed

SHOWN_WINDOWS = ("last", "mean_last_10")
ALL_WINDOWS = (*SHOWN_WINDOWS, "best_high", "best_low", "auc", "auc_mean")
_EMPTY = Group(name="", members=(), again=(), left_out=(), digests={})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatistics:
    """A group, its metrics, and what is odd about its files."""

    group: Group
    metrics: tuple[MetricStatistics, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The answer: every group, and each later group held against the first, metric by metric."""

    groups: tuple[GroupStatistics, ...]
    between: tuple[tuple[str, str, tuple[Between, ...]], ...]  # names of both groups, and what differs
    bootstrap_seed: int


def statistics(
    targets: Sequence[str],
    *,
    project: Project,
    windows: Sequence[str] = ALL_WINDOWS,
    metrics: Sequence[str] = (),
    like: str | None = None,
    bootstrap_seed: int = 0,
) -> Statistics:
    """Statistics of recipes and sweeps.

    Args:
        targets: Names of recipes that have runs, and folders of sweeps.
        project: Where runs are.
        windows: Names as ``core.statistics.windows`` has them.
        metrics: Patterns of the metrics; none means all.
        like: Of the recipes, only runs on the inputs of this run: an id, its beginning, or a path.
        bootstrap_seed: Of the generator of all resamples.

    Raises:
        UsageError: A window has no such name, or a target is neither a recipe with runs nor a sweep.
        CannotJudgeError: A recipe or sweep has no finished run, or two runs of one seed differ.
    """
    try:
        asked = [Window.parse(name) for name in dict.fromkeys(windows)]
    except ValueError as error:
        raise UsageError(str(error), where="--window") from error
    groups = [group for target in targets for group in _groups(target, project=project, like=like)]
    generator = np.random.default_rng(bootstrap_seed)
    for pattern in metrics:
        names = dict.fromkeys(name for one in groups for name in _numbers_of(one))
        if not any(fnmatchcase(name, pattern) for name in names):
            raise adapters.fits_no_metric(pattern, names, option="--metric")
    found = tuple(_described(one, asked, patterns=metrics, generator=generator) for one in groups)
    pairs = tuple(
        (first.group.name, other.group.name, tuple(_between(first, other, generator=generator)))
        for first, other in _compared(found)
    )
    return Statistics(groups=found, between=pairs, bootstrap_seed=bootstrap_seed)


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
    """The golden that is drawn beside each group that has one, by the group's name."""
    named = {
        one.group.name: golden_curves(one.group, golden_dir=project.golden_dir)
        for one in found.groups
        if not one.group.is_mixed
    }
    return {name: golden for name, golden in named.items() if golden is not None}


def _groups(target: str, *, project: Project, like: str | None) -> Iterator[Group]:
    for place in (Path(target), project.runs_dir / SWEEPS / target):
        if (place / SWEEP).is_file() or place.name == SWEEP:
            yield from _groups_of_sweep(place)
            return
    folders = runs.list_all(project.runs_dir, recipe=target)
    if not folders:
        raise UsageError(
            "no run has this recipe, and no sweep has this folder",
            where=str(project.runs_dir),
            actual=repr(target),
            fix="`reprokit runs list` shows the recipes that have runs",
        )
    yield group_of(folders, name=target, like=None if like is None else runs.find(project.runs_dir, like))


def _groups_of_sweep(record: Path) -> Iterator[Group]:
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
    for name in dict.fromkeys(one.group for one in (*found.folders, *found.missing)):
        members = {one: folder for one, folder in found.folders.items() if one.group == name}
        mixed = is_mixed(tuple(members))
        group = group_of(list(members.values()), name=name, mixed=mixed) if members else _EMPTY
        absent = [
            LeftOut(folder=runs_dir / (member.run or member.recipe), reason=_why_missing(member))
            for member in found.missing
            if member.group == name
        ]
        yield replace(group, name=name, left_out=(*group.left_out, *absent))


def _why_missing(member: Member) -> str:
    return ": ".join(filter(None, (f"seed {member.seed}", str(member.state), member.message)))


def _described(
    group: Group, windows: Sequence[Window], *, patterns: Sequence[str], generator: np.random.Generator
) -> GroupStatistics:
    found = [(member.seed, _read(member.folder)) for member in group.members]
    names = dict.fromkeys(name for _, columns in found for name in columns.series)
    wanted = [name for name in names if not patterns or any(fnmatchcase(name, one) for one in patterns)]
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


def _numbers_of(group: Group) -> Iterator[str]:
    """The metrics of a group's runs that are numbers."""
    return (name for member in group.members for name in _read(member.folder).series)


def _read(folder: Path) -> Columns:
    """Every metric of a run; of several sources, names begin with ``file:``."""
    if stored(folder / METRICS).exists():
        return adapters.read_columns(folder / METRICS)
    sources = adapters.find_all(folder)
    if not sources:
        raise adapters.no_metrics(folder)
    found = [(f"{one.name}:" if len(sources) > 1 else "", adapters.read_columns(one.path)) for one in sources]
    return Columns(
        series={prefix + name: one for prefix, columns in found for name, one in columns.series.items()},
        not_numbers={
            prefix + name: count for prefix, columns in found for name, count in columns.not_numbers.items()
        },
        num_unreadable=sum(columns.num_unreadable for _, columns in found),
    )


def _notes(found: Sequence[tuple[int, Columns]], curves: Sequence[Curves]) -> Iterator[str]:
    every = {seed for seed, _ in found}
    for one in curves:
        missing = sorted(every - set(one.seeds))
        if missing:
            yield f"{one.metric}: seeds without a value, so not counted: {', '.join(map(str, missing))}"
    texts = dict.fromkeys(name for _, columns in found for name in columns.not_numbers)
    if texts:
        yield f"no numbers, so no statistics: {', '.join(texts)}"
    for seed, columns in found:
        if columns.num_unreadable:
            yield f"seed {seed}: {columns.num_unreadable} records cannot be read"


def _between(
    first: GroupStatistics, second: GroupStatistics, *, generator: np.random.Generator
) -> Iterator[Between]:
    theirs = {one.metric: one for one in second.metrics}
    for one in first.metrics:
        if one.metric in theirs:
            for window in one.windows:
                other = theirs[one.metric].of(window.window)
                yield describe.between(window, other, metric=one.metric, generator=generator)
