"""Which drop new seeds would show, said before there are any."""

from __future__ import annotations

import numpy as np
import pytest

from reprokit.core.statistics.foreseen import smallest_drops
from reprokit.core.statistics.gate import judge
from reprokit.core.statistics.gate_plan import Metric, PlanOfLooks

HIGHER = Metric(name="return", margin=0.1)
LOWER = Metric(name="return", margin=0.1, higher_is_better=False)
SEEDS = np.random.default_rng(1).normal(100.0, 1.0, size=20).tolist()


def test_it_is_the_drop_that_the_gate_names_after_its_last_look():
    (foreseen,) = smallest_drops({"return": SEEDS}, [HIGHER], plan=PlanOfLooks())
    new = np.random.default_rng(2).normal(100.0, 1.0, size=10).tolist()
    outcome = judge({"return": SEEDS}, {"return": new}, metrics=(HIGHER,), generator=np.random.default_rng(0))
    assert len(outcome.looks) == 3
    assert foreseen == pytest.approx(outcome.metrics[0].smallest_visible_drop, rel=0.1)


def test_a_wider_ensemble_shows_only_larger_drops_and_more_metrics_as_well():
    (narrow,) = smallest_drops({"return": SEEDS}, [HIGHER], plan=PlanOfLooks())
    wide = [100 + 3 * (value - 100) for value in SEEDS]
    assert smallest_drops({"return": wide}, [HIGHER], plan=PlanOfLooks())[0] == pytest.approx(3 * narrow)
    other = Metric(name="loss", margin=0.1)
    two = smallest_drops({"return": SEEDS, "loss": SEEDS}, [HIGHER, other], plan=PlanOfLooks())
    assert two[0] > narrow


def test_of_a_metric_that_should_be_low_it_is_a_rise():
    mirrored = [-value for value in SEEDS]
    drops = (
        smallest_drops({"return": one}, [metric], plan=PlanOfLooks())
        for one, metric in ((SEEDS, HIGHER), (mirrored, LOWER))
    )
    assert len(set(drops)) == 1
