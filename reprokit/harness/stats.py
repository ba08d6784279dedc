"""Statistics over the seeds of recipes and sweeps; each further group of runs is held against the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from reprokit import adapters, runs
from reprokit.adapters import Columns
from reprokit.compressed import stored
from reprokit.core.statistics import describe
from reprokit.core.statistics.describe import Between, Curves, MetricStatistics
from reprokit.core.statistics.windows import Window
from reprokit.errors import UsageError
from reprokit.harness.judging.runs_over_seeds import Group, LeftOut, group_of
from reprokit.layout import METRICS, read_json
from reprokit.project import Project

SWEEPS, SWEEP = "sweeps", "sweep.json"
SHOWN_WINDOWS = ("last", "mean_last_10")
ALL_WINDOWS = (*SHOWN_WINDOWS, "best_high", "best_low", "auc", "auc_mean")


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
    found = tuple(_described(one, asked, patterns=metrics, generator=generator) for one in groups)
    if metrics and not any(one.metrics for one in found):
        raise UsageError("no metric has such a name", where="--metric", actual=" ".join(metrics))
    pairs = tuple(
        (found[0].group.name, other.group.name, tuple(_between(found[0], other, generator=generator)))
        for other in found[1:]
    )
    return Statistics(groups=found, between=pairs, bootstrap_seed=bootstrap_seed)


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


def _groups_of_sweep(place: Path) -> Iterator[Group]:
    """The members of a sweep, by recipe and settings; those without a finished run are named."""
    file = place / SWEEP if place.is_dir() else place
    rows = read_json(file).get("members")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows) or not rows:
        raise UsageError("this is no record of a sweep", where=str(file))
    runs_dir = file.resolve().parents[2]
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        settings = row.get("settings") or ()
        by_name.setdefault(" ".join(map(str, (row.get("recipe"), *settings))), []).append(row)
    for name, members in by_name.items():
        there = [runs_dir / str(row["run"]) for row in members if row.get("run")]
        absent = [
            LeftOut(
                folder=runs_dir / str(row.get("recipe")),
                reason=f"seed {row.get('seed')}: {row.get('message') or row.get('state') or 'no run'}",
            )
            for row in members
            if not row.get("run")
        ]
        found = group_of([folder for folder in there if folder.is_dir()], name=name)
        gone = [
            LeftOut(folder=folder, reason="the folder is gone") for folder in there if not folder.is_dir()
        ]
        yield Group(
            name=name,
            members=found.members,
            again=found.again,
            left_out=(*found.left_out, *absent, *gone),
            digests=found.digests,
        )


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
