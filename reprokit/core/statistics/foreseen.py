"""Which drop new seeds would show against an ensemble, before there are any: simulated as for the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reprokit.core.statistics.gate_plan import Metric, PlanOfLooks, as_matrix
from reprokit.core.statistics.power import visible_drops

_GENERATOR_SEED = 0


def smallest_drops(
    reference: Mapping[str, Sequence[float]], metrics: Sequence[Metric], *, plan: PlanOfLooks
) -> tuple[float | None, ...]:
    """The smallest drop of each metric that the plan's last look finds with its power; None where none is.

    Args:
        reference: Metric → its finite values, one a seed, at least two.
        metrics: Those that the gate judges, whose number counts in its correction.
        plan: How many new seeds, at which level and with which power.

    >>> metric = Metric(name="return", margin=1.0)
    >>> smallest_drops({"return": [1.0, 2.0] * 10}, [metric], plan=PlanOfLooks())[0] < 1.0
    True
    """
    level = plan.level(len(plan.looks) - 1) / len(metrics)  # what Holm's correction asks of the first one
    generator = np.random.default_rng(_GENERATOR_SEED)
    signs = np.array([[metric.sign] for metric in metrics])
    return tuple(
        visible_drops(
            values, plan.looks[-1], level=level, draws=plan.power_draws, generator=generator
        ).smallest(plan.power)
        for values in as_matrix(reference, metrics) * signs
    )
