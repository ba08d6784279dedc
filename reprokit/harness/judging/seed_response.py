"""Whether the metrics of an unmodified program respond to its seed, and what shows it.

Two runs with one seed agree in any program that ignores its seed and computes a constant. So a golden proves
something only where a run with another seed has other metrics, or where the recipe says why it has not.
"""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, golden, runs
from reprokit.core import fingerprint, inputs
from reprokit.core.agreement import takes_seed
from reprokit.core.evidence import SeedResponse, is_integer
from reprokit.core.rows import counted
from reprokit.errors import GoldenError, MetricsError
from reprokit.harness.running.clock import Phases
from reprokit.harness.running.run_kinds import WholeRun, is_whole
from reprokit.harness.running.start_runs import run_recipe
from reprokit.layout import ENVIRONMENT, METRICS, RECORD, read_json
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.workspace import sha256_of

LARGEST_SEED = 2**32
_MOST_LOOKED_AT = 16
NOTHING = "nothing shows that a metric responds to the seed"


def response_of(
    recipe: Mapping[str, Any], first: Path, *, golden_folder: Path | None, other: Path | None
) -> SeedResponse | None:
    """What shows that the metrics of a run respond to its seed; None for a program that reprokit seeds.

    Args:
        recipe: The recipe as plain data.
        first: The run's folder.
        golden_folder: Where its golden is, or would be; None where that is unknown.
        other: A run with another seed, or None.
    """
    if "command" not in recipe or recipe.get("unresponsive"):
        return None
    shown = recorded_in(golden_folder) or shown_by_other_goldens(golden_folder, first)
    if shown:
        return SeedResponse(shown_by=shown)
    if other is not None:
        return compared_with(first, other)
    because = NOTHING if takes_seed(recipe) else f"{NOTHING}: its command has no {{seed}}"
    return SeedResponse(why_not=because)


def response_to_seed(
    recipe: Recipe | None,
    stored: Sequence[runs.StoredRun],
    environment: Mapping[str, Any],
    golden_dir: Path | None,
    *,
    other: Path | None,
) -> SeedResponse | None:
    """The same of the first of several runs of a recipe; None where it did not finish."""
    if recipe is None or recipe.program is None or not stored or not stored[0].complete:
        return None
    seed, folder = stored[0].record.get("seed"), None
    if golden_dir is not None and is_integer(seed):
        folder = golden.locate_for(golden_dir, recipe=recipe.name, environment=environment, seed=seed)
    return response_of(recipe.as_data(), stored[0].path, golden_folder=folder, other=other)


def recorded_in(golden_folder: Path | None) -> str:
    """What a golden says of the run with another seed that was there when it was promoted, or ""."""
    recorded = (_loaded(golden_folder) or {}).get("responds")
    if not recorded:
        return ""
    return f"{counted(len(recorded['metrics']), 'metric')} responded to the seed when it was promoted"


def shown_by_other_goldens(golden_folder: Path | None, first: Path) -> str:
    """What goldens of the same inputs with other seeds show; "" where they show nothing."""
    if golden_folder is None or not (first / METRICS).is_file():
        return ""
    digests, metrics = read_json(first / RECORD).get("digests") or {}, sha256_of(first / METRICS)
    for folder in sorted(golden_folder.parent.glob("seed-*")):
        theirs = (_loaded(folder) or {}).get("digests") if folder != golden_folder else None
        if theirs and not inputs.changed(theirs, digests) and theirs["metrics"] != metrics:
            return f"the golden of {folder.name.replace('-', ' ')} has other metrics"
    return ""


def compared_with(first: Path, other: Path) -> SeedResponse:
    """What a run with another seed shows."""
    mine, theirs = (read_json(folder / RECORD).get("seed") for folder in (first, other))
    stored, where = runs.read(other), str(other)
    if not stored.complete:
        because = f"{where} is incomplete: {stored.incomplete_because}"
        return SeedResponse(run=where, why_not=f"{NOTHING}: {because}")
    if not is_integer(mine) or not is_integer(theirs) or mine == theirs or not _are_alike(first, other):
        return SeedResponse(run=where, why_not=f"{NOTHING}: {where} is not a run of it with another seed")
    try:
        names = responding_metrics(first, other, seeds=(mine, theirs))
        num_metrics = len(adapters.compare(first / METRICS, other / METRICS).per_metric)
    except MetricsError as error:
        return SeedResponse(run=where, why_not=f"{NOTHING}: {error}")
    if not names:
        told = f"no metric responds to the seed: seed {theirs} gives the metrics of seed {mine}"
        return SeedResponse(run=where, why_not=told)
    told = f"{len(names)} of {counted(num_metrics, 'metric')} respond to the seed"
    return SeedResponse(run=where, shown_by=told, seed=theirs, metrics=names)


def responding_metrics(first: Path, other: Path, *, seeds: Sequence[int]) -> tuple[str, ...]:
    """The metrics in which the folders of two runs with these seeds differ, but for those that are the seed.

    Raises:
        MetricsError: Their metrics cannot be compared.
    """
    comparison = adapters.compare(first / METRICS, other / METRICS)
    return tuple(_responding(first, other, seeds, comparison.per_metric))


def run_with_another_seed(first: Path) -> Path | None:
    """A finished run of the same as ``first`` but for its seed, beside it; None where there is none.

    Of several the newest in which a metric responds, else the newest.
    """
    mine = read_json(first / RECORD)
    found: list[Path] = []
    for folder in sorted(first.parent.iterdir(), key=lambda path: path.name, reverse=True):
        record = read_json(folder / RECORD) if (folder / RECORD).is_file() else {}
        seed = record.get("seed")
        other = is_integer(seed) and seed != mine.get("seed")
        if other and is_whole(record) and _are_alike(first, folder):
            found += [folder] if runs.read(folder).complete else []
            if found[-1:] == [folder] and compared_with(first, folder).shown_by:
                return folder
        if len(found) >= _MOST_LOOKED_AT:
            break
    return found[0] if found else None


def find_another_seed(
    recipe: Recipe,
    folders: Sequence[Path],
    request: Request,
    *,
    project: Project,
    phases: Phases,
    run: Callable[[Request], tuple[Path, ...]] | None = None,
) -> Path | None:
    """A run with another seed, found or made now, where nothing else shows that a metric responds.

    Args:
        recipe: Of the runs.
        folders: The runs that are to agree, and were asked for with ``request``.
        request: What was asked for.
        project: Where goldens and runs live.
        phases: The clock.
        run: Makes the runs of another request; None for runs of the recipe.

    Returns:
        Its folder; None where none is needed, or none could show anything.
    """
    data = recipe.as_data()
    if recipe.program is None or recipe.modified or not takes_seed(data) or not agree(folders):
        return None
    environment = read_json(folders[0] / ENVIRONMENT)
    seed = request.seed_of(recipe.seeds)
    place = golden.locate_for(project.golden_dir, recipe=recipe.name, environment=environment, seed=seed)
    if _is_answered(data, folders[0], place):
        return None
    found = run_with_another_seed(folders[0])
    if found is not None:
        return found
    other = next((one for one in recipe.seeds if one != seed), (seed + 1) % LARGEST_SEED)
    phases.progress.note(f"one more run, with seed {other}: nothing shows yet that a metric responds to it")
    asked, kind = replace(request, seed=other), WholeRun(beside=request.repeats)
    if run is not None:
        return run(replace(asked, repeats=1))[0]
    return run_recipe(recipe, asked, kind, project=project, phases=phases)[0]


def agree(folders: Sequence[Path]) -> bool:
    """Whether finished runs left the same metrics: what differs is judged without looking further."""
    files = [folder / METRICS for folder in folders]
    if not all(file.is_file() for file in files):
        return False
    complete = all(runs.read(folder, verify=False).complete for folder in folders)
    return complete and all(filecmp.cmp(files[0], file, shallow=False) for file in files[1:])


def _loaded(folder: Path | None) -> Mapping[str, Any] | None:
    """Where a golden comes from; None where it is none, which whoever compares with it says."""
    try:
        return golden.load(folder).provenance if folder is not None and folder.is_dir() else None
    except GoldenError:
        return None


def _is_answered(recipe: Mapping[str, Any], first: Path, golden_folder: Path) -> bool:
    """Whether goldens show it already, for a run that may be promoted in the place of one of them."""
    told = _loaded(golden_folder)
    if told and told.get("responds"):
        record = read_json(first / RECORD)
        same = not inputs.changed(told["digests"], record.get("digests") or {})
        return same or told["digests"]["metrics"] == sha256_of(first / METRICS)
    response = response_of(recipe, first, golden_folder=golden_folder, other=None)
    return response is None or bool(response.shown_by)


def _responding(
    first: Path, other: Path, seeds: Sequence[int], per_metric: Mapping[str, Any]
) -> Iterator[str]:
    """The metrics that differ, without those that only repeat the seed, and without texts.

    A text may hold the seed in any form, as may the digest of a file: one counts where no metric is a number.
    """
    mine, theirs = adapters.read_series(first / METRICS), adapters.read_series(other / METRICS)
    for name, summary in per_metric.items():
        if not summary.mismatches and (name in mine) == (name in theirs):
            continue
        values = [set(side[name].values) if name in side else set() for side in (mine, theirs)]
        echoes = all(found == {float(seed)} for found, seed in zip(values, seeds, strict=True))
        if not echoes and (any(values) or not (mine or theirs)):
            yield name


def _are_alike(first: Path, other: Path) -> bool:
    """Whether two runs have the same inputs, and an environment that computes the same."""
    mine, theirs = (read_json(folder / RECORD) for folder in (first, other))
    if any(mine.get(key) != theirs.get(key) for key in ("digests", "modified", "plain_command")):
        return False
    environments = [read_json(folder / ENVIRONMENT) for folder in (first, other)]
    return fingerprint.same(*environments)
