"""Seeds of a sweep that do nothing: every member is finished, and yet they are one result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reprokit import golden
from reprokit.core.sampling.seed_rule import Response
from reprokit.errors import CannotJudgeError, MetricsError
from reprokit.harness.judging.seed_response import responses, silent_metrics
from reprokit.harness.judging.windowed_values import windowed_values
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.layout import METRICS
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.runs.sweeps import MemberState, SweepMember

_LOOKED_AT = 5  # so many runs show whether a metric is constant within each


def seeds_that_do_nothing(
    members: Sequence[SweepMember], group_of: Mapping[int, SweepGroup], *, project: Project
) -> Iterator[str]:
    """A warning for each recipe with settings whose seeds are one result, or whose declared metric is.

    Args:
        members: In the order in which they were asked for.
        group_of: Their groups, by their places.
        project: Where the runs are.
    """
    together: dict[str, dict[int, Path]] = {}
    recipes: dict[str, Recipe] = {}
    for at, member in enumerate(members):
        if member.state is MemberState.COMPLETE and member.run:
            together.setdefault(member.group, {})[member.seed] = project.runs_dir / member.run
            recipes[member.group] = group_of[at].recipe
    for name, folders in together.items():
        if len(folders) > 1 and not recipes[name].as_data().get("unresponsive"):
            try:
                yield from _warnings(name, folders, recipes[name])
            except (MetricsError, CannotJudgeError, OSError):
                continue  # what cannot be read is said by `reprokit stats` and `golden promote`


def _warnings(name: str, folders: Mapping[int, Path], recipe: Recipe) -> Iterator[str]:
    files = {seed: folder / METRICS for seed, folder in list(folders.items())[:_LOOKED_AT]}
    found = responses(files)
    if found and all(one is Response.NO for one in found.values()):
        yield (
            f"{name}: no metric responds to the seed, so its {len(folders)} seeds are one result: seed every "
            "generator of the program with {seed}"
        )
        return
    if not recipe.statistical:
        return
    labels = golden.labels_of([one.as_blessed() for one in recipe.statistical])
    metrics = {label: one.metric for label, one in zip(labels, recipe.statistical, strict=True)}
    values = {seed: windowed_values(folder, recipe.statistical) for seed, folder in folders.items()}
    for label, why in silent_metrics(files, values, metrics).items():
        yield f"{name}: {label} {why}; `golden promote --sweep` refuses it"
