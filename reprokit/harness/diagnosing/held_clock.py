"""Which metrics follow the clock and nothing else: a run that reads the clock of another has its numbers.

At any depth, for rates and rounded values too, whose numbers alone do not show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprokit import adapters
from reprokit.core.comparing.clock_metrics import kind_by_name
from reprokit.core.comparison import Comparison
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram, need
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.start_runs import prepare, with_numpys_own_names
from reprokit.layout import METRICS
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Session

_CLOCKS = frozenset({"clock", "library_clock"})
_RUNS = 3


def clock_columns(
    recipe: Recipe, request: Request, pair: Sequence[Path], *, session: Session
) -> tuple[str, ...]:
    """The metrics that differ between runs with one seed, where holding the clock makes all of them equal.

    Args:
        recipe: Of a command.
        request: The seed and the backend.
        pair: The folders of two runs that differ.
        session: Whose project gets the folder of three more runs.

    Returns:
        Empty where a metric that is not called a time or a speed differs, or one differs with the clock
        held: a program that takes its seed from the clock has equal numbers then, too.

    Raises:
        CannotRunError: A run did not finish.
        MetricsError: One has no metrics.
    """
    differing = _differing(adapters.compare(pair[0] / METRICS, pair[1] / METRICS))
    if not _all_of_time(differing):
        return ()
    ready = with_numpys_own_names(prepare(recipe, request, session=session), recipe)
    folder = session.project.reports_dir / recipe.name / f"{stamp()}-clock"
    with InstrumentedProgram(
        ready.plan, folder=folder, backend=ready.backend, progress=session.progress, budget=_RUNS
    ) as lab:
        first, other = need(lab.run("first")), need(lab.run("second"))
        sites = tuple(name for name, site in first.trace.sites.items() if site.kind in _CLOCKS)
        if not sites:
            return ()
        held = need(lab.run("held", Conditions(pins=sites, like=first)))
        differing |= _differing(lab.compare(first, other))
        differing |= _differing(adapters.compare(pair[0] / METRICS, first.folder / METRICS))
        is_clock = _all_of_time(differing) and lab.compare(first, held).identical
    return tuple(sorted(differing)) if is_clock else ()


def _differing(found: Comparison) -> set[str]:
    """The metrics that differ; "" among them where the runs differ in what they hold, too."""
    names = {name for name, one in found.per_metric.items() if one.mismatches}
    return names if names or found.identical else {""}


def _all_of_time(names: set[str]) -> bool:
    """Whether each is called a time or a speed; what is called a rate may be one of errors."""
    return bool(names) and all(kind_by_name(name) not in {"", "memory"} for name in names)
