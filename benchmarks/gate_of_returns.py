"""The statistical gate on returns that were really run: false alarms, and wrong passes.

A gate draws its seeds without replacement: 20 of reference and 10 new ones. ``gate_data.py`` has the command.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.stats
from dot_plot import Row, dot_plot
from gate_error_rates import (
    NUM_REFERENCE,
    PLAN,
    SEED,
    SOURCE,
    Values,
    alarms_of,
    machine,
    rate,
    table,
)

from reprokit.core.statistics.gate import ManyOutcomes, judge_many
from reprokit.core.statistics.gate_plan import Conclusion, Metric, PlanOfLooks
from reprokit.core.statistics.windows import Window

if TYPE_CHECKING:
    from gate_data import Returns, Run

NUM_NEW = PLAN.looks[-1]
NUM_IN_GATE = NUM_REFERENCE + NUM_NEW
MARGIN = 1.5  # standard deviations of the returns
POWER_PLAN = PlanOfLooks(power_draws=100)
GATES_IN_BLOCK = 1_000
MARGIN_OF = ("final return", "mean height of the curve", "final return and mean height")  # higher is better
PLOTS = SOURCE / "docs/explanation/plots"

#: Return that counts as solved, for the first step.
SOLVED = {"cartpole_baseline": 475, "cartpole_dqn": 195, "pinpad": 0.95}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a gate judges: numbers of a run, with the margin of each.

    Attributes:
        windows: "final" or the name of a window of the evaluations.
        values: Shape (metrics, seeds): of the runs in which nothing changed.
    """

    name: str
    windows: tuple[str, ...]
    values: Values

    @property
    def metrics(self) -> list[Metric]:
        # A window without any variance has no standard deviation to take a margin from.
        spreads = [float(np.std(row[np.isfinite(row)], ddof=1)) for row in self.values]
        return [
            Metric(
                name=window,
                margin=MARGIN * spread if spread else 1.0,
                higher_is_better=not window.startswith("first_step"),
            )
            for window, spread in zip(self.windows, spreads, strict=True)
        ]


def judged_of(returns: Returns, names: Sequence[str] | None = None) -> list[Judged]:
    """What is judged of a recipe: each window alone, and the two that ask how well and how fast it learns.

    Nothing where there are fewer seeds than a gate takes.
    """
    runs = returns.of("null")
    if len(runs) < NUM_IN_GATE:
        return []
    windows = {
        "final return": ("final",),
        "mean of the last 5 evaluations": ("mean_last_5",),
        "mean height of the curve": ("auc_mean",),
        f"first step at {SOLVED[returns.recipe]}": (f"first_step_at_least_{SOLVED[returns.recipe]}",),
        "final return and mean height": ("final", "auc_mean"),
    }
    return [
        Judged(name=name, windows=parts, values=values_of(returns, runs, parts))
        for name, parts in windows.items()
        if names is None or name in names
    ]


def values_of(returns: Returns, runs: Sequence[Run], windows: Sequence[str]) -> Values:
    """Shape (metrics, runs)."""
    steps = np.array(returns.steps, dtype=np.float64)
    curves = np.array([run.evaluations for run in runs])
    return np.array(
        [
            [run.final for run in runs] if name == "final" else Window.parse(name).of(steps, curves).values
            for name in windows
        ]
    )


def drawn(values: Values, gates: int, generator: np.random.Generator) -> tuple[Values, Values]:
    """Reference and new values, shape (gates, metrics, seeds): no seed twice in a gate."""
    seeds = np.tile(np.arange(values.shape[1]), (gates, 1))
    chosen = generator.permuted(seeds, axis=1)[:, :NUM_IN_GATE]
    found = np.moveaxis(values[:, chosen], 0, 1)
    return found[..., :NUM_REFERENCE], found[..., NUM_REFERENCE:]


def alarms(judged: Judged, gates: int, *, seed: Sequence[int]) -> tuple[list[int], int]:
    generator = np.random.default_rng([SEED, *seed])
    return alarms_of(
        lambda count: drawn(judged.values, count, generator),
        gates,
        metrics=judged.metrics,
        generator=generator,
    )


def in_blocks(judged: Judged, gates: int) -> list[float]:
    """The false-alarm rate in each of the disjoint blocks of 30 seeds, in the order of the seeds."""
    found = []
    for block in range(judged.values.shape[1] // NUM_IN_GATE):
        part = judged.values[:, block * NUM_IN_GATE : (block + 1) * NUM_IN_GATE]
        one = Judged(name=judged.name, windows=judged.windows, values=part)
        found.append(sum(alarms(one, gates, seed=(2, block))[0]) / gates)
    return found


def block_text(rates: Sequence[float]) -> str:
    """The mean of the blocks with Student's interval; of fewer than three, the rates themselves."""
    percent = 100 * np.array(rates)
    if len(percent) < 3:
        return ", ".join(f"{one:.2f}" for one in percent)
    half = float(scipy.stats.t.ppf(0.975, len(percent) - 1) * scipy.stats.sem(percent))
    return f"{percent.mean():.2f} ± {half:.2f} ({len(percent)})"


def false_alarm_lines(data: Sequence[Returns], gates: int, *, too_many: list[str]) -> Iterator[str]:
    start = time.perf_counter()
    rows, dots = [], []
    for returns in data:
        for judged in judged_of(returns):
            at_looks, num_worse = alarms(judged, gates, seed=(1,))
            total = sum(at_looks)
            if total > scipy.stats.binom.ppf(0.999, gates, PLAN.alpha):
                too_many.append(f"{returns.recipe}, {judged.name}: {total} of {gates}")
            rows.append(
                [
                    returns.recipe,
                    judged.name,
                    spread_text(judged),
                    rate(total, gates),
                    *(f"{100 * one / gates:.2f}" for one in at_looks),
                    f"{100 * num_worse / gates:.2f}",
                    block_text(in_blocks(judged, min(gates, GATES_IN_BLOCK))),
                ]
            )
            interval = scipy.stats.binomtest(total, gates).proportion_ci(method="exact")
            dots.append(
                Row(
                    label=f"{returns.recipe}: {judged.name}",
                    dots=(100 * total / gates,),
                    interval=(100 * interval.low, 100 * interval.high),
                )
            )
    plot("false-alarms", dots, title="False alarms on returns of real trainings, %", upper=6.0, mark=5.0)
    looks = [f"at {count} seeds" for count in PLAN.looks]
    yield from table(
        [
            *("recipe", "judged", "mean ± sd of the seeds", "false alarms, % [95 % interval]"),
            *(*looks, "of them worse", "in blocks of 30 seeds, %"),
        ],
        rows,
    )
    counts = ", ".join(f"{len(one.of('null'))} of {one.recipe}" for one in data)
    yield ""
    yield f"Seeds: {counts}. {made(gates, start)}"


def spread_text(judged: Judged) -> str:
    texts = []
    for row in judged.values:
        finite = row[np.isfinite(row)]
        missing = f", {len(row) - len(finite)} never" if len(finite) < len(row) else ""
        texts.append(f"{finite.mean():.5g} ± {finite.std(ddof=1):.3g}{missing}")
    return "; ".join(texts)


def made(gates: int, start: float) -> str:
    minutes = (time.perf_counter() - start) / 60
    return f"{gates:,} gates a row, seed {SEED}; {minutes:.1f} minutes on {machine()}."


def margin_lines(data: Sequence[Returns], gates: int) -> Iterator[str]:
    """Wrong passes where every new seed is worse by exactly the margin."""
    start = time.perf_counter()
    rows = []
    for returns in data:
        for judged in judged_of(returns, MARGIN_OF):
            if not np.ptp(judged.values, axis=1).all():
                continue  # all seeds end alike: there is no margin to drop by
            margins = np.array([[metric.margin] for metric in judged.metrics])
            for name, share in (("none", 0.0), ("the margin", 1.0)):
                generator = np.random.default_rng([SEED, 3])
                reference, new = drawn(judged.values, gates, generator)
                found = judge_many(
                    reference,
                    new - share * margins,
                    metrics=judged.metrics,
                    generator=generator,
                    plan=POWER_PLAN,
                )
                margin_text = "; ".join(f"{one:.3g}" for one in margins[:, 0])
                rows.append([returns.recipe, judged.name, margin_text, name, *outcome_cells(found)])
    yield from table(
        ["recipe", "judged", "margin", "drop", *(f"{one}, %" for one in Conclusion), "new seeds"], rows
    )
    yield ""
    yield made(gates, start)


def outcome_cells(found: ManyOutcomes) -> list[str]:
    """Each conclusion with its interval, and how many new seeds were used in the mean."""
    counts = [int(np.count_nonzero(found.conclusions == one)) for one in Conclusion]
    return [*(rate(one, len(found.looks)) for one in counts), f"{seeds_used(found):.1f}"]


def seeds_used(found: ManyOutcomes) -> float:
    return float(np.mean([PLAN.looks[look] for look in found.looks]))


def plot(name: str, rows: Sequence[Row], *, title: str, upper: float, mark: float | None = None) -> None:
    PLOTS.mkdir(parents=True, exist_ok=True)
    text = dot_plot(rows, title=title, upper=upper, mark=mark)
    (PLOTS / f"{name}.svg").write_text(text, encoding="utf-8")
