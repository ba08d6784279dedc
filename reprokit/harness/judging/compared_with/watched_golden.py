"""Which golden runs are compared with while they train, and whether they may be stopped at it."""

from __future__ import annotations

from pathlib import Path

from reprokit import adapters, golden
from reprokit.core import fingerprint
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.evidence import fact
from reprokit.harness.judging.compared_with.reference import golden_reference
from reprokit.harness.running.watch_golden import FindGolden, WatchedGolden
from reprokit.recipes import Recipe
from reprokit.request import Request

_THREADS = ("inside.torch.threads", "inside.numpy.openblas.threads")


def golden_to_watch(recipe: Recipe, request: Request, *, golden_dir: Path) -> FindGolden | None:
    """What finds the golden of runs that have begun; None where they must go to their end.

    That is where other runs are compared with the end of these (``--resume``, ``--vary``, ``--same-under``,
    ``--rounding``, ``--statistical``), and for commands, whose metrics the host writes when they have ended.
    """
    beside = request.resume or request.vary or request.same_under or request.rounding
    if beside or request.statistical or not recipe.traces:
        return None
    seed = request.seed_of(recipe.seeds)

    def find(environment: EnvironmentRecord) -> WatchedGolden | None:
        platform = fingerprint.platform_of(environment)
        folder = golden.locate_for(golden_dir, recipe=recipe.name, environment=environment, seed=seed)
        if platform not in recipe.platforms or not folder.is_dir():
            return None
        reference = golden_reference(golden.load(folder), recipe)
        names = adapters.summarise(reference.metrics).metric_names
        # A mismatch with a log that someone published is no regression, and a mean needs all of its values.
        if reference.is_foreign or any(reference.tolerances.of(name).mean_of > 1 for name in names):
            return None
        # Threads that a training sets itself are not known yet: the environment would look like another one.
        if any(fact(reference.environment, name) != fact(environment, name) for name in _THREADS):
            return None
        return WatchedGolden(metrics=reference.metrics, tolerances=reference.tolerances)

    return find
