"""How often the statistical gate is wrong, as it is told with each of its answers."""

from __future__ import annotations

from typing import Any

from reprokit.core.statistics.gate_plan import GateOutcome, PlanOfLooks

#: Share of gates that passed although one seed in five had dropped, the mean by exactly the margin: lowest
#: and highest of three shapes of returns. Measured: docs/explanation/statistical-gate.md.
ONE_SEED_IN_FIVE_PASSES = (0.59, 0.71)


def rates_of(outcome: GateOutcome, plan: PlanOfLooks) -> dict[str, Any]:
    """The error rates of one answer.

    Returns:
        ``false_alarms_at_most``; ``wrong_passes_at_most`` for a drop of exactly a margin in every seed, which
        the gate asks of itself; ``wrong_passes_at_margin``: metric → the same at the look that decided,
        simulated from the reference, None where nothing could be; ``power_asked``; and
        ``one_seed_in_five_passes``, lowest and highest.
    """
    return {
        "false_alarms_at_most": plan.alpha,
        "wrong_passes_at_most": 1 - plan.power,
        "wrong_passes_at_margin": {
            one.name: None if one.power_at_margin is None else 1 - one.power_at_margin
            for one in outcome.metrics
        },
        "power_asked": plan.power,
        "one_seed_in_five_passes": list(ONE_SEED_IN_FIVE_PASSES),
    }
