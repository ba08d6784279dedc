"""The golden that is drawn next to the curves of several seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reprokit import adapters, golden
from reprokit.adapters.columns import Numbers
from reprokit.core import inputs
from reprokit.errors import GoldenError, MetricsError
from reprokit.features.sweeps.runs_over_seeds import SeedGroup
from reprokit.records import environment_json, run_json


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenCurves:
    """What a golden is called, and its curves: metric → steps and values; or why it cannot be drawn."""

    label: str
    series: Mapping[str, tuple[Numbers, Numbers]] = field(default_factory=dict)
    problem: str = ""


def golden_curves(group: SeedGroup, *, golden_dir: Path) -> GoldenCurves | None:
    """The golden of the group's recipe and platform, of the first of its seeds that has one."""
    for member in group.members:
        recipe = run_json.recorded(member.folder).recipe
        environment = environment_json.recorded(member.folder)
        try:
            folder = golden.locate_for(
                golden_dir, recipe=str(recipe), environment=environment, seed=member.seed
            )
        except GoldenError:  # a name that no folder can have
            continue
        if folder.is_dir():
            return _read(folder, group, seed=member.seed)
    return None


def _read(folder: Path, group: SeedGroup, *, seed: int) -> GoldenCurves:
    label = f"golden, seed {seed}"
    try:
        found = golden.load(folder)
        series = adapters.read_columns(found.metrics).series
    except (GoldenError, MetricsError) as error:
        return GoldenCurves(label=label, problem=f"the golden cannot be read: {error}")
    if not found.is_foreign and inputs.changed(found.provenance.digests, group.digests):
        return GoldenCurves(
            label=label,
            problem=f"the golden of seed {seed} was made from different inputs, so it is not drawn",
        )
    return GoldenCurves(label=f"{label}, a foreign log" if found.is_foreign else label, series=series)
