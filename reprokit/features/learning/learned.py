"""Whether a run learned: its own metrics and, on request, a probe inside its environment.

The probe has a folder of its own among the reports: a run's folder is never changed, and the probe is no run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import adapters, runs
from reprokit.core.report_parts import DrawnCurve
from reprokit.errors import CannotJudgeError, CannotRunError, MetricsError, UsageError
from reprokit.features.learning.curve import Point, learning_curve
from reprokit.harness.judging.compared_with.reference_run import recipe_of
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.first_updates import FirstUpdatesRunner, need
from reprokit.harness.running.start_runs import prepare
from reprokit.layout import METRICS, OUTPUT, STDERR, STDOUT, read_json
from reprokit.learning import Answer, diagnose
from reprokit.request import Request
from reprokit.session import Session

_UPDATES, _MOST_UPDATES = 2, 40
_PROBE = "reprokit.features.learning.inside.learning_probe"
_TAIL_BYTES = 1 << 16
_MOST_POINTS = 400  # of a curve, as in reports
# How torch's anomaly detection says it: https://pytorch.org/docs/stable/autograd.html#anomaly-detection
_ANOMALY = re.compile(r"Function '\w+' returned nan values in its \d+th output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What was found out about a run.

    Attributes:
        run: The run's folder.
        answers: In the order in which one looks for what is wrong.
        curve: What greedy evaluation reached, and when; at most ten rows a metric.
        probe: The probe's folder; None where no one asked for one.
    """

    run: Path
    answers: tuple[Answer, ...]
    curve: tuple[Point, ...] = ()
    probe: Path | None = None


def learned(reference: str, request: Request, *, session: Session, probe: bool = False) -> Learned:
    """Ask a run whether it learned.

    Args:
        reference: A run folder's path, or a run id or its unambiguous beginning.
        request: How the probe is run: backend, base, time limit.
        session: The project, and the progress that is shown.
        probe: Look at the first updates, check the environments, and memorise one transition.

    Raises:
        CannotJudgeError: The run logged no metrics.
        UsageError: A probe of a plain command is asked for.
        CannotRunError: The probe did not come to its end.
    """
    folder = runs.find(session.project.runs_dir, reference)
    stored = runs.read(folder, verify=False)
    curves = _curves(folder)
    settings = stored.record.training_config
    found: Mapping[str, Any] | None = None
    where = None
    if probe:
        where = _probed(stored, request, updates=_due(curves), session=session)
        found = read_json(where / OUTPUT / "learning.json")
        if not found:
            raise CannotRunError("the probe left no answer", where=str(where), fix="see stderr.log there")
    answers = diagnose(
        curves,
        settings=settings if isinstance(settings, Mapping) else None,
        probe=found,
        anomaly=_anomaly(folder),
    )
    return Learned(run=folder, answers=answers, curve=learning_curve(curves), probe=where)


def drawn_curves(folder: Path) -> dict[str, DrawnCurve]:
    """The metrics of a run, thinned for drawing."""
    every = [adapters.read_series(path, max_points=_MOST_POINTS) for path in _sources(folder)]
    return {
        name: DrawnCurve(label=folder.name, steps=one.steps, values=one.values)
        for each in every
        for name, one in each.items()
    }


def _curves(folder: Path) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Metric → steps and values; of a run that no one closed, from ``output/``."""
    try:
        series = [adapters.read_series(path) for path in _sources(folder)]
    except MetricsError as error:
        raise CannotJudgeError(f"its metrics cannot be read: {error}", where=str(folder)) from error
    found = {name: (tuple(one.steps), tuple(one.values)) for each in series for name, one in each.items()}
    if not found:
        raise CannotJudgeError("the run logged no metrics", where=str(folder), fix="name another run")
    return found


def _sources(folder: Path) -> list[Path]:
    own = [path for path in (folder / METRICS, folder / OUTPUT / METRICS) if path.is_file()]
    return own[:1] or [source.path for source in adapters.find_all(folder)]


def _due(curves: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]) -> int:
    """How many updates the probe looks at: up to the first record that holds a NaN, where one does."""
    spoilt = [
        index
        for name, (_, values) in curves.items()
        if "episodic" not in name
        for index, value in enumerate(values)
        if value != value  # noqa: PLR0124 - a NaN is not itself
    ]
    return min(max(_UPDATES, min(spoilt, default=0) + 1), _MOST_UPDATES)


def _anomaly(folder: Path) -> str:
    """What torch's anomaly detection wrote into the run's log, or ""."""
    for path in (folder / STDERR, folder / STDOUT):
        if path.is_file():
            with path.open("rb") as stream:
                stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
                if told := _ANOMALY.search(stream.read().decode("utf-8", errors="replace")):
                    return f"anomaly detection says: {told[0]}"
    return ""


def _probed(stored: runs.StoredRun, request: Request, *, updates: int, session: Session) -> Path:
    if stored.record.program:
        raise UsageError(
            "an unmodified program cannot be probed: how it trains is not known",
            where=str(stored.path),
            fix="leave out --probe",
        )
    if stored.record.plain_command:
        raise UsageError(
            "a plain command cannot be probed: how it trains is not known",
            where=str(stored.path),
            fix="leave out --probe, or write a recipe",
        )
    recipe = recipe_of(stored)
    asked = replace(request, seed=stored.record.seed)
    ready = prepare(recipe, asked, session=session)
    bench = FirstUpdatesRunner(
        plan=ready.plan,
        folder=session.project.reports_dir / recipe.name / f"{stamp()}-learning",
        updates=updates,
        emulator="",
        progress=session.progress,
        stop=threading.Event(),
        backend=ready.backend,
    )
    session.progress.phase(
        f"{recipe.name}: {updates} updates watched, the environments checked, one transition"
    )
    left = bench.beside("probe", _PROBE, option="--updates", updates=updates, ends_with=0)
    return need(left, "the probe did not come to its end").folder
