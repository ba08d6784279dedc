"""Statistics over seeds and an answer of the statistical gate, for the pages that show them."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np

from reprokit.core.checklist import Report
from reprokit.core.statistics import gate
from reprokit.core.statistics.gate_plan import Metric, PlanOfLooks
from reprokit.core.statistics.windows import Window
from reprokit.features.sweeps.runs_over_seeds import SeedGroup, SeedRun
from reprokit.features.sweeps.statistics import describe
from reprokit.features.sweeps.statistics.describe import Curves
from reprokit.features.sweeps.statistics_html import statistics_to_html
from reprokit.features.sweeps.stats import GroupStatistics, Statistics

STEPS = np.arange(12.0)
FINALS = (489.5, 495.6, 482.1, 487.9, 488.4)


def group(name="cartpole", *, metric="eval/return", finals=FINALS, left_out=()):
    """A group whose seeds rise from 100 to their final value in the last of twelve records."""
    values = tuple(np.append(np.full(11, 100.0), final) for final in finals)
    seeds = tuple(range(len(finals)))
    curves = Curves(metric=metric, seeds=seeds, steps=(STEPS,) * len(finals), values=values)
    windows = [Window.parse("last"), Window.parse("mean_last_10")]
    found = describe.describe([curves], windows=windows, generator=np.random.default_rng(0))
    members = tuple(SeedRun(seed=seed, folder=Path(f"runs/{seed}")) for seed in seeds)
    together = SeedGroup(name=name, members=members, again=(), left_out=tuple(left_out), digests={})
    return GroupStatistics(group=together, metrics=tuple(found), notes=())


def page_of(*groups, goldens=None, between=()):
    found = Statistics(groups=groups, between=between, bootstrap_seed=0)
    return statistics_to_html(found, goldens or {})


PLAN = PlanOfLooks(power_draws=200)


def judged(*, drop=0.0, metric="return", lower_is_better=False, odd=()):
    """What a report has under ``statistical``, of a gate that was really asked."""
    generator = np.random.default_rng(3)
    before = generator.normal(490.0, 8.0, 20)
    after = generator.normal(490.0 - drop, 8.0, 10)
    after[list(odd)] = math.nan
    judged = Metric(name=metric, margin=25.0, higher_is_better=not lower_is_better)
    outcome = gate.judge(
        {metric: before.tolist()},
        {metric: after.tolist()},
        metrics=[judged],
        generator=np.random.default_rng(0),
        plan=PLAN,
    )
    return {
        "reference": {str(seed): {metric: float(value)} for seed, value in enumerate(before)},
        "new": {str(seed): {metric: float(value)} for seed, value in enumerate(after, start=100)},
        "outcome": dataclasses.asdict(outcome),
        "margins": {metric: 25.0},
        "rates": {
            "false_alarms_at_most": 0.05,
            "wrong_passes_at_margin": {metric: 0.0125},
            "wrong_passes_at_most": 0.025,
            "one_seed_in_five_passes": [0.08, 0.11],
        },
    }


def statistics_page():
    """Two groups, one of them with a seed that ended at no number."""
    groups = group(), group("tuned", finals=(470.0, math.nan, 480.0))
    return page_of(*groups)


def gate_report(report: Report) -> Report:
    """The report as one that an ensemble judged."""
    return dataclasses.replace(report, statistical=judged())
