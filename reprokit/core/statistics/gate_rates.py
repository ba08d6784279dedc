"""How often the statistical gate is wrong, as each of its answers says."""

from __future__ import annotations

from typing import Any

from reprokit.core.statistics.gate_plan import GateOutcome, PlanOfLooks

#: Share of gates that passed although one seed in five had dropped, the mean by exactly the margin: lowest
#: and highest of three shapes of returns. Measured: docs/explanation/statistical-gate.md.
ONE_SEED_IN_FIVE_PASSES = (0.08, 0.11)


def rates_of(outcome: GateOutcome, plan: PlanOfLooks) -> dict[str, Any]:
    """The error rates of one answer.

    Returns:
        ``false_alarms_at_most``; ``wrong_passes_at_most`` for a drop of exactly a margin in every seed, which
        the intervals of all looks hold; ``wrong_passes_at_margin``: metric → the same at the look that
        decided, or less where its test would miss fewer, None where nothing could be simulated;
        ``power_asked``; ``one_seed_in_five_passes``, lowest and highest; and ``one_seed_in_five_hits_none``,
        with which probability none of the new seeds is one of those.
    """
    most = plan.alpha / 2
    return {
        "false_alarms_at_most": plan.alpha,
        "wrong_passes_at_most": most,
        "wrong_passes_at_margin": {
            metric.name: None if metric.power_at_margin is None else min(most, 1 - metric.power_at_margin)
            for metric in outcome.metrics
        },
        "power_asked": plan.power,
        "one_seed_in_five_passes": list(ONE_SEED_IN_FIVE_PASSES),
        "one_seed_in_five_hits_none": 0.8 ** (outcome.looks[-1].num_new if outcome.looks else 0),
    }
