"""One more run of a watched program without the watch, which must have the same metrics, byte for byte.

A golden says what the program computes, not what it computes while it is watched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.core.inputs import INPUTS, changed
from reprokit.core.verdicts.agreement import difference
from reprokit.errors import CannotRunError, GoldenError, MetricsError
from reprokit.harness.judging.compared_with.reference_run import recipe_of
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import run_recipe
from reprokit.layout import METRICS
from reprokit.request import Request
from reprokit.session import Session
from reprokit.workspace import sha256_of

_INSTRUMENTATION = "instrumentation"


def plain_run(watched: runs.StoredRun, *, session: Session) -> dict[str, Any]:
    """Run the program of a watched run without the watch, and compare.

    Returns:
        What a golden's provenance says of it: ``run`` and the digest of its ``metrics``.

    Raises:
        CannotRunError: It did not finish.
        GoldenError: It was not the same program in the same environment, or it has other metrics.
    """
    recipe = recipe_of(watched)
    if recipe.program is None:
        raise GoldenError("only a program that a recipe starts can be watched", where=str(watched.path))
    unwatched = replace(recipe, program=replace(recipe.program, instrument=None))
    backend = watched.record.backend
    request = Request(
        seed=watched.record.seed, backend=backend if backend in {"docker", "local"} else "auto", repeats=1
    )
    session.progress.note("one more run, without the watch: its metrics must be the same")
    folder = run_recipe(unwatched, request, WholeRun(), session=session)[0]
    made = runs.read(folder)
    if not made.complete:
        why = made.record.message or made.incomplete_because
        raise CannotRunError(
            f"the run without the watch did not finish: {why}",
            where=str(folder),
            fix=str(made.record.remedy or f"see its logs in {folder}"),
        )
    _must_be_the_same_program(watched, made)
    _must_have_the_same_metrics(watched.path, folder)
    return {"run": f"{folder.parent.name}/{folder.name}", "metrics": sha256_of(folder / METRICS)}


def _must_be_the_same_program(watched: runs.StoredRun, made: runs.StoredRun) -> None:
    then, now = (_inputs(one) for one in (watched, made))
    others = [INPUTS[name] for name in changed(then, now)]
    if others:
        raise GoldenError(
            f"{', '.join(others)} changed since the watched runs, so one more run shows nothing about them",
            where=str(watched.path),
            fix="run the recipe again, then promote",
        )


def _inputs(run: runs.StoredRun) -> Mapping[str, Any]:
    digests = run.record.digests or {}
    return {name: value for name, value in digests.items() if name != _INSTRUMENTATION}


def _must_have_the_same_metrics(watched: Path, plain: Path) -> None:
    if (watched / METRICS).read_bytes() == (plain / METRICS).read_bytes():
        return
    try:
        told = difference(adapters.compare(plain / METRICS, watched / METRICS))
    except MetricsError as error:
        told = str(error)
    raise GoldenError(
        f"with the watch the program has other metrics than without it: they differ {told}",
        where=str(watched),
        expected=f"the metrics of the run without the watch, {plain}",
        fix=f"`reprokit diff {plain} {watched}`; without `instrument: light` nothing is changed",
    )
