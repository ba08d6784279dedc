"""The page of `reprokit stats` and `reprokit sweep`: what it shows, and that no name in it acts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reprokit.core.statistics.windows import Window
from reprokit.features.sweeps.golden_curves import GoldenCurves
from reprokit.features.sweeps.runs_over_seeds import LeftOut
from reprokit.features.sweeps.statistics import describe
from reprokit.features.sweeps.statistics.describe import Curves
from reprokit.features.sweeps.statistics_html import sweep_to_html
from reprokit.features.sweeps.stats import GroupStatistics, Statistics
from reprokit.harness import Sweep
from reprokit.runs import sweeps
from support import hostile
from support.seed_pages import STEPS, group, page_of


def test_the_page_has_curve_results_table_and_the_caveats_of_the_terminal():
    page = page_of(group(left_out=[LeftOut(folder=Path("runs/9"), reason="it was stopped early")]))
    assert page.count("<figure") == 2
    assert page.count('class="band run-0"') == 2  # in the legend and on the chart
    for text in ("488.7", "[482.728, 494.672]", "left out: 9: it was stopped early"):
        assert text in page
    assert "How often a 95 % t-interval over 5 seeds contains the true mean: 95 % where results are" in page
    assert "cartpole, seed 1: 495.6" in page
    assert "it compares seeds: whether one seed&#39;s run can be repeated" in page


def test_the_golden_is_drawn_and_named():
    golden = GoldenCurves(label="golden, seed 0", series={"eval/return": (STEPS, STEPS * 40)})
    page = page_of(group(), goldens={"cartpole": golden})
    assert 'class="curve golden" points=' in page
    assert ">golden, seed 0<" in page


def test_a_golden_that_cannot_be_read_is_named_as_not_drawn():
    golden = GoldenCurves(label="golden, seed 0", problem="the golden cannot be read: a file is missing")
    page = page_of(group(), goldens={"cartpole": golden})
    assert "cartpole: the golden cannot be read: a file is missing" in page
    assert 'class="curve golden"' not in page


def test_groups_share_the_charts_and_are_held_against_each_other():
    first, second = group("a"), group("b", finals=(470.0, 471.0, 480.0))
    rows = [
        describe.between(one, other, metric="eval/return", generator=np.random.default_rng(0))
        for one, other in zip(first.metrics[0].windows, second.metrics[0].windows, strict=True)
    ]
    page = page_of(first, second, between=(("a", "b", tuple(rows)),))
    assert page.count("<figure") == 2
    assert 'class="curve run-1" points=' in page
    assert "<h2>b against a</h2>" in page
    assert "Power: of means one standard deviation apart" in page


def test_a_seed_that_ended_at_no_number_is_said_and_marked():
    page = page_of(group(finals=(489.5, float("nan"), 482.1)))
    assert "cartpole, seed 1: NaN" in page
    assert 'class="cross run-0"' in page
    assert "1 of 3 values are not finite (nan): eval/return last" in page


def test_a_metric_of_one_record_has_results_and_no_curve():
    curves = Curves(
        metric="final", seeds=(1, 2), steps=(np.ones(1),) * 2, values=(np.array([3.0]), np.array([4.0]))
    )
    found = describe.describe([curves], windows=[Window.parse("last")], generator=np.random.default_rng(0))
    one = group()
    page = page_of(GroupStatistics(group=one.group, metrics=tuple(found), notes=()))
    assert page.count("<figure") == 1
    assert "final: all seeds have a finite value at fewer than two steps, so there is no curve" in page


def test_results_stand_before_losses():
    losses, returns = group(metric="loss/policy"), group(metric="eval/return")
    both = GroupStatistics(group=losses.group, metrics=(*losses.metrics, *returns.metrics), notes=())
    page = page_of(both)
    assert page.index("<figcaption>eval/return") < page.index("<figcaption>loss/policy")


def member(seed, state, **facts):
    return sweeps.SweepMember(recipe="train", seed=seed, state=state, **facts)


def sweep_of(*members):
    return Sweep(name="train-1", path=Path("sweep.json"), members=members, actions=("run",) * len(members))


def test_the_page_of_a_sweep_has_a_row_for_each_member():
    answer = sweep_of(
        member(3, sweeps.MemberState.COMPLETE, run="train/a", last_return=("return", 0.0123456)),
        member(4, sweeps.MemberState.CRASHED, message="exit code 1"),
    )
    page = sweep_to_html(answer, Statistics(groups=(group("train"),), between=(), bootstrap_seed=0), {})
    assert "1 of 2 members finished" in page
    assert '<header class="bad">' in page
    assert "0.01235" in page
    assert "train seed 4: exit code 1" in page
    assert page.count("<figure") == 2


def test_a_sweep_without_a_finished_member_is_a_page_without_plots():
    page = sweep_to_html(sweep_of(member(4, sweeps.MemberState.CRASHED, message="exit code 1")), None, {})
    assert "0 of 1 member finished" in page
    assert "<figure" not in page


@pytest.mark.parametrize("text", hostile.SCRIPTS[:8])
def test_no_name_becomes_markup(text):
    golden = GoldenCurves(label=text, series={text: (STEPS, STEPS)})
    left = LeftOut(folder=Path(text.replace("/", "")), reason=text)
    page = page_of(group(text, metric=text, left_out=[left]), goldens={text: golden})
    for tag in ("<img", "<iframe", "<svg onload", "<body onload"):
        assert tag not in page.lower()
    assert page.lower().count("<script") == 1  # its own
    assert "default-src &#39;none&#39;" in page
