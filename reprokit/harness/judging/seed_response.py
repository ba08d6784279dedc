"""Whether the metrics of an unmodified program respond to its seed, and what shows it.

Two runs with one seed agree in any program that ignores its seed and computes a constant. So a golden proves
something only where a run with another seed has other metrics, or where the recipe says why it has not.
"""

from __future__ import annotations

import filecmp
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from reprokit import adapters, golden, runs
from reprokit.core import inputs
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.evidence import SeedResponse, is_integer
from reprokit.core.provenance import OtherSeeds
from reprokit.core.records import digest
from reprokit.core.run_record import RunRecord
from reprokit.core.sampling import seed_rule
from reprokit.core.sampling.seed_rule import Response as Responding
from reprokit.core.sampling.seed_rule import why_few_curves, why_no_response
from reprokit.core.verdicts.agreement import takes_seed
from reprokit.core.verdicts.rows import counted
from reprokit.errors import GoldenError, MetricsError
from reprokit.harness.judging.earlier_runs import earlier_runs, have_same_inputs
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.layout import METRICS
from reprokit.recipes import Recipe
from reprokit.records import environment_json, run_json
from reprokit.request import Request
from reprokit.session import Session
from reprokit.workspace import sha256_of

LARGEST_SEED = 2**32
_MOST_LOOKED_AT = 16
NOTHING = "nothing shows that a metric responds to the seed"


def response_of(
    recipe: Mapping[str, Any], first: Path, *, golden_folder: Path | None, others: Sequence[Path]
) -> SeedResponse | None:
    """What shows that the metrics of a run respond to its seed; None for a program that reprokit seeds.

    Args:
        recipe: The recipe as plain data.
        first: The run's folder.
        golden_folder: Where its golden is, or would be; None where that is unknown.
        others: Runs with other seeds.
    """
    if "command" not in recipe or recipe.get("unresponsive"):
        return None
    shown = recorded_in(golden_folder) or shown_by_other_goldens(golden_folder, first)
    if shown:
        return SeedResponse(shown_by=shown)
    if others:
        return compared_with(first, others)
    because = NOTHING if takes_seed(recipe) else f"{NOTHING}: its command has no {{seed}}"
    return SeedResponse(why_not=because)


def response_to_seed(
    recipe: Recipe | None,
    stored: Sequence[runs.StoredRun],
    environment: EnvironmentRecord,
    golden_dir: Path | None,
    *,
    others: Sequence[Path],
) -> SeedResponse | None:
    """The same of the first of several runs of a recipe; None where it did not finish."""
    if recipe is None or recipe.traces or not stored or not stored[0].complete:
        return None
    seed, folder = stored[0].record.seed, None
    if golden_dir is not None and is_integer(seed):
        folder = golden.locate_for(golden_dir, recipe=recipe.name, environment=environment, seed=seed)
    return response_of(recipe.as_data(), stored[0].path, golden_folder=folder, others=others)


def recorded_in(golden_folder: Path | None) -> str:
    """What a golden says of the runs with other seeds that were there when it was promoted, or "".

    It is judged by today's rule: a metric that is constant in the golden's own records is no response, and
    neither is one with a single record of which two seeds alone are known.
    """
    blessed = _loaded(golden_folder)
    recorded = blessed.provenance.responds if blessed else None
    if not blessed or not recorded:
        return ""
    own = {name: one.values for name, one in adapters.read_series(blessed.metrics).items()}
    if own:
        names = [name for name in recorded.metrics if name in own and _may_respond(own[name], recorded)]
        names = [name for name in names if not seed_rule.is_called_a_seed(name)]
    else:  # no metric is a number
        names = list(recorded.metrics)
    return f"{counted(len(names), 'metric')} responded to the seed when it was promoted" if names else ""


def _may_respond(values: Sequence[float], recorded: OtherSeeds) -> bool:
    if len(values) == 1:
        return recorded.third_seed is not None
    return len({str(value) for value in values}) > 1


def shown_by_other_goldens(golden_folder: Path | None, first: Path) -> str:
    """What goldens of the same inputs with other seeds show; "" where they show nothing."""
    if golden_folder is None or not (first / METRICS).is_file():
        return ""
    record = run_json.recorded(first)
    if record.seed is None:
        return ""
    digests, files = record.digests, {record.seed: first / METRICS}
    for folder in sorted(golden_folder.parent.glob("seed-*")):
        theirs = _loaded(folder) if folder != golden_folder else None
        if (
            theirs
            and _is_of_same_code(theirs, record)
            and not inputs.changed(theirs.provenance.digests, digests)
        ):
            files.setdefault(theirs.seed, theirs.metrics)
    if len(files) < 2:
        return ""
    try:
        shown = Responding.YES in responses(files).values()
    except MetricsError:
        return ""
    *_, last = files
    seeds = "seed " + str(last) if len(files) == 2 else f"{len(files) - 1} other seeds"
    return f"the golden of {seeds} has other metrics" if shown else ""


def _is_of_same_code(blessed: golden.Golden, record: RunRecord) -> bool:
    """Whether what an unpinned program can import is the golden's, as far as that was kept."""
    kept = blessed.provenance.outside_code
    return record.image is not None or kept is None or kept == record.outside_code


def compared_with(first: Path, others: Sequence[Path]) -> SeedResponse:
    """What runs with other seeds show, one or two."""
    mine = run_json.recorded(first).seed
    files = {} if mine is None else {mine: first / METRICS}
    where = tuple(map(str, others))
    told = SeedResponse(run=where[0], third_run=where[1] if len(where) > 1 else "")
    for other in others:
        seed, stored = run_json.recorded(other).seed, runs.read(other)
        if not stored.complete:
            because = f"{other} is incomplete: {stored.incomplete_because}"
            return replace(told, why_not=f"{NOTHING}: {because}")
        if mine is None or seed is None or seed in files or not have_same_inputs(first, other):
            return replace(told, why_not=f"{NOTHING}: {other} is not a run of it with another seed")
        files[seed] = other / METRICS
    try:
        found = responses(files)
    except MetricsError as error:
        return replace(told, why_not=f"{NOTHING}: {error}")
    seeds, names = list(files)[1:], tuple(name for name, one in found.items() if one is Responding.YES)
    if names:
        shown = f"{len(names)} of {counted(len(found), 'metric')} respond to the seed"
        third = seeds[1] if len(seeds) > 1 else None
        return replace(told, shown_by=shown, seed=seeds[0], third_seed=third, metrics=names)
    if open_ones := [name for name, one in found.items() if one is Responding.OPEN]:
        because = f"{', '.join(open_ones[:3])} may be the seed plus a constant, which two seeds cannot tell"
        return replace(told, why_not=f"{NOTHING}: {because}", needs_third=True)
    with_seeds = f"seed {seeds[0]} gives" if len(seeds) == 1 else f"seeds {seeds[0]} and {seeds[1]} give"
    repeats = "" if _are_equal(list(files.values())) else ", except for what repeats the seed or is constant"
    return replace(
        told,
        why_not=f"no metric responds to the seed: {with_seeds} the metrics of seed {mine}{repeats}",
    )


def responses(files: Mapping[int, Path]) -> dict[str, Responding]:
    """Whether each metric responds to the seed, by its name.

    A text may hold the seed in any form, as may the digest of a file: they count where no metric is a number.

    Args:
        files: Seed → the metrics of the run with it; two or more.

    Raises:
        MetricsError: They cannot be read.
    """
    series = {seed: adapters.read_series(file) for seed, file in files.items()}
    names = list(dict.fromkeys(name for one in series.values() for name in one))
    if names:
        return {name: _response_of(name, series) for name in names}
    first, *others = files.values()
    found: dict[str, Responding] = {}
    for other in others:
        for name, summary in adapters.compare(first, other).per_metric.items():
            if summary.mismatches or name not in found:
                found[name] = Responding.YES if summary.mismatches else Responding.NO
    return found


def silent_metrics(
    files: Mapping[int, Path], values: Mapping[int, Mapping[str, float]], metrics: Mapping[str, str]
) -> dict[str, str]:
    """Which declared metrics do not respond to the seed, by what their values are filed under, and why.

    Args:
        files: Seed → the metrics of some of the runs, two or more.
        values: Seed → label → number, of all runs.
        metrics: Label → the metric's name.

    Raises:
        MetricsError: They cannot be read.
    """
    found = responses(files)
    told = {label: why_no_response({seed: one[label] for seed, one in values.items()}) for label in metrics}
    for label, name in metrics.items():
        if not told[label] and found.get(name) is Responding.NO:
            told[label] = f"only repeats the seed: {name} is the same at every record of each run"
    return {label: why for label, why in told.items() if why}


def metrics_of_one_result(files: Mapping[int, Path], metrics: Mapping[str, str]) -> dict[str, str]:
    """Which declared metrics come to one result or two, over all records, and why, by their labels.

    Args:
        files: Seed → the metrics of the run with it.
        metrics: Label → the metric's name.

    Raises:
        MetricsError: They cannot be read.
    """
    series = {seed: adapters.read_series(file) for seed, file in files.items()}
    found = {
        label: why_few_curves(
            [np.asarray(one[name].values, dtype=np.float64) for one in series.values() if name in one]
        )
        for label, name in metrics.items()
    }
    return {label: why for label, why in found.items() if why}


def digests_of_responding(files: Mapping[int, Path]) -> dict[int, str]:
    """Seed → digest of the metrics, without those that only repeat the seed."""
    if len(files) < 2:
        return {seed: sha256_of(file) for seed, file in files.items()}
    found = responses(files)
    names = sorted(name for name, one in found.items() if one is not Responding.NO)
    if len(names) == len(found):
        return {seed: sha256_of(file) for seed, file in files.items()}
    digests = {}
    for seed, file in files.items():
        series = adapters.read_series(file)
        told = [[name, list(map(repr, series[name].values))] for name in names if name in series]
        digests[seed] = digest(told) if series else sha256_of(file) if names else ""
    return digests


def _response_of(name: str, series: Mapping[int, Mapping[str, adapters.Series]]) -> Responding:
    if seed_rule.is_called_a_seed(name):
        return Responding.NO
    values = {
        seed: np.asarray(one[name].values if name in one else (), dtype=np.float64)
        for seed, one in series.items()
    }
    return seed_rule.response(values)


def _are_equal(files: Sequence[Path]) -> bool:
    return all(filecmp.cmp(files[0], file, shallow=False) for file in files[1:])


def runs_with_other_seeds(first: Path) -> tuple[Path, ...]:
    """Finished runs next to ``first`` of the same but for their seeds, under its conditions: up to two.

    The newest in which a metric responds, else the newest two that show it together, else the newest ones.
    """
    mine, earlier = run_json.recorded(first), earlier_runs(first)
    found: dict[int, Path] = {}
    for folder in sorted(first.parent.iterdir(), key=lambda path: path.name, reverse=True):
        record = run_json.recorded(folder)
        seed = record.seed
        if seed is None or seed == mine.seed or seed in found:
            continue
        if not (record.is_whole and have_same_inputs(first, folder) and earlier.show_same_conditions(folder)):
            continue
        if runs.read(folder).complete:
            found[seed] = folder
            for others in ((folder,), (next(iter(found.values())), folder))[: len(found)]:
                if compared_with(first, others).shown_by:
                    return others
        if len(found) >= _MOST_LOOKED_AT:
            break
    newest = tuple(found.values())[:2]
    return newest if newest and compared_with(first, newest[:1]).needs_third else newest[:1]


def find_other_seeds(
    recipe: Recipe,
    folders: Sequence[Path],
    request: Request,
    *,
    session: Session,
    run: Callable[[Request], tuple[Path, ...]] | None = None,
) -> tuple[Path, ...]:
    """Runs with other seeds, found or made now, where nothing else shows that a metric responds: up to two.

    Args:
        recipe: Of the runs.
        folders: The runs that are to agree, and were asked for with ``request``.
        request: What was asked for.
        session: The project, and the progress that is shown.
        run: Makes the runs of another request; None for runs of the recipe.

    Returns:
        Their folders; () where none is needed, or none could show anything.
    """
    data = recipe.as_data()
    if recipe.traces or recipe.modified or not takes_seed(data) or not agree(folders):
        return ()
    environment = environment_json.recorded(folders[0])
    seed = request.seed_of(recipe.seeds)
    place = golden.locate_for(
        session.project.golden_dir, recipe=recipe.name, environment=environment, seed=seed
    )
    if _is_answered(data, folders[0], place):
        return ()

    def made(other: int) -> Path:
        session.progress.note(
            f"one more run, with seed {other}, to see whether the metrics depend on the seed"
        )
        asked, kind = replace(request, seed=other), WholeRun(beside=request.repeats)
        if run is not None:
            return run(replace(asked, repeats=1))[0]
        return run_recipe(recipe, asked, kind, session=session)[0]

    found = runs_with_other_seeds(folders[0])
    if not found:
        found = (made(next((one for one in recipe.seeds if one != seed), (seed + 1) % LARGEST_SEED)),)
    if len(found) == 1 and compared_with(folders[0], found).needs_third:
        second = run_json.read(found[0]).seed
        found = (*found, made(third_seed(seed, second or 0)))
    return found


def third_seed(first: int, second: int) -> int:
    """A third seed, so far away that results in steps, such as a share of 100, are on no line by chance."""
    return (max(first, second) + 1009) % LARGEST_SEED


def agree(folders: Sequence[Path]) -> bool:
    """Whether finished runs left the same metrics: what differs is judged without looking further."""
    files = [folder / METRICS for folder in folders]
    if not all(file.is_file() for file in files):
        return False
    complete = all(runs.read(folder, verify=False).complete for folder in folders)
    return complete and all(filecmp.cmp(files[0], file, shallow=False) for file in files[1:])


def _loaded(folder: Path | None) -> golden.Golden | None:
    """A golden; None where it is none, which whoever compares with it says."""
    try:
        return golden.load(folder) if folder is not None and folder.is_dir() else None
    except GoldenError:
        return None


def _is_answered(recipe: Mapping[str, Any], first: Path, golden_folder: Path) -> bool:
    """Whether goldens show it already, for a run that may be promoted in the place of one of them."""
    blessed = _loaded(golden_folder)
    if blessed and blessed.provenance.responds:
        record, digests = run_json.recorded(first), blessed.provenance.digests
        same = not inputs.changed(digests, record.digests)
        its_own = same or digests["metrics"] == sha256_of(first / METRICS)
        return its_own and bool(recorded_in(golden_folder))
    response = response_of(recipe, first, golden_folder=golden_folder, others=())
    return response is None or bool(response.shown_by)
