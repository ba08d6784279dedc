"""What the statistical gate says of planted learning regressions, by number of new seeds.

The reference of a gate is drawn from seeds in which nothing changed; gates of a plant share its new seeds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from dot_plot import Row
from gate_error_rates import PLAN, SEED, Values, table
from gate_of_returns import (
    NUM_IN_GATE,
    NUM_NEW,
    POWER_PLAN,
    Judged,
    drawn,
    judged_of,
    made,
    plot,
    seeds_used,
    values_of,
)
from learning_regressions import PLANTS

from reprokit.core.statistics.gate import ManyOutcomes, judge_many
from reprokit.core.statistics.gate_plan import Conclusion

if TYPE_CHECKING:
    from gate_data import Returns

HEAD = (
    *("planted", "seeds", "final return", "mean height", *(f"found by {one}, %" for one in PLAN.looks)),
    *("EQUIVALENT, %", "new seeds", "found by final return alone, %", "by mean height alone, %"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What gates said of one plant.

    Attributes:
        num_seeds: How many planted seeds there are.
        means: Of the final return and of the mean height.
        found_by: Percent of the gates with REGRESSION by each look that there are seeds for.
        equivalent: Percent of the gates with EQUIVALENT; None, like the next two, with too few seeds.
        seeds_used: New seeds, in the mean over the gates.
        alone: Percent of the gates with REGRESSION by the last look where one window is judged.
    """

    num_seeds: int
    means: tuple[float, ...]
    found_by: tuple[float, ...]
    equivalent: float | None = None
    seeds_used: float | None = None
    alone: tuple[float, ...] | None = None

    def cells(self) -> list[str]:
        by = [f"{one:.0f}" for one in self.found_by]
        cells = [str(self.num_seeds), *(f"{one:.4g}" for one in self.means), *by]
        if self.equivalent is not None:
            cells += [
                f"{self.equivalent:.0f}",
                f"{self.seeds_used:.1f}",
                *(f"{one:.0f}" for one in self.alone),
            ]
        return [*cells, *["–"] * (len(HEAD) - 1 - len(cells))]


def against_planted(judged: Judged, planted: Values, gates: int) -> tuple[Values, Values]:
    """Gates of 20 seeds in which nothing changed and the planted ones, each gate in an order of its own.

    Where there are fewer planted seeds than the last look needs, the first ones fill its places: the looks
    before do not see them, and no one reads that look.
    """
    generator = np.random.default_rng([SEED, 4])
    reference, _ = drawn(judged.values, gates, generator)
    order = generator.permuted(np.tile(np.arange(planted.shape[1]), (gates, 1)), axis=1)
    order = np.resize(order.T, (NUM_NEW, gates)).T
    return reference, np.moveaxis(planted[:, order], 0, 1)


def judge_planted(judged: Judged, planted: Values, gates: int, *, with_power: bool) -> ManyOutcomes:
    return judge_many(
        *against_planted(judged, planted, gates),
        metrics=judged.metrics,
        generator=np.random.default_rng([SEED, 5]),
        plan=POWER_PLAN,
        with_power=with_power,
    )


def found_by(found: ManyOutcomes, num_planted: int) -> tuple[float, ...]:
    """Percent of the gates that said REGRESSION by each look, of those that there are seeds for."""
    regressions = found.conclusions == Conclusion.REGRESSION
    looks = [look for look, count in enumerate(PLAN.looks) if count <= num_planted]
    return tuple(100 * float(np.mean(regressions & (found.looks <= look))) for look in looks)


def answers_of(returns: Returns, label: str, gates: int) -> Answers:
    final, height, both = judged_of(
        returns, ("final return", "mean height of the curve", "final return and mean height")
    )
    runs = returns.of(label)
    planted = values_of(returns, runs, both.windows)
    found = judge_planted(both, planted, gates, with_power=True)
    by, means = found_by(found, len(runs)), tuple(planted.mean(axis=1))
    if len(runs) < NUM_NEW:
        return Answers(num_seeds=len(runs), means=means, found_by=by)
    alone = [
        judge_planted(judged, planted[at : at + 1], gates, with_power=False)
        for at, judged in enumerate((final, height))
    ]
    return Answers(
        num_seeds=len(runs),
        means=means,
        found_by=by,
        equivalent=100 * float(np.mean(found.conclusions == Conclusion.EQUIVALENT)),
        seeds_used=seeds_used(found),
        alone=tuple(found_by(one, NUM_NEW)[-1] for one in alone),
    )


def planted_lines(data: Sequence[Returns], gates: int) -> Iterator[str]:
    """A row for each plant of which there are seeds enough for the first look."""
    start = time.perf_counter()
    answers, waiting = {}, []
    for returns in data:
        for plant in (one for one in PLANTS if one.recipe == returns.recipe):
            too_few = len(returns.of("null")) < NUM_IN_GATE or len(returns.of(plant.name)) < PLAN.looks[0]
            if too_few:
                waiting.append(f"{plant.what} ({len(returns.of(plant.name))})")
            else:
                answers[plant.what] = answers_of(returns, plant.name, gates)
    dots = [Row(label=what, dots=one.found_by) for what, one in answers.items()]
    dots.sort(key=lambda row: row.dots[::-1])
    title = "Planted regressions that are found by 3, 5 and 10 new seeds, %"
    plot("planted", dots, title=title, upper=100.0)
    yield from table(list(HEAD), [[what, *one.cells()] for what, one in answers.items()])
    yield ""
    if waiting:
        yield f"Seeds too few for a look: {'; '.join(waiting)}."
    used = [one.seeds_used for one in answers.values() if one.seeds_used is not None]
    if used:
        mean = float(np.mean(used))
        yield f"Mean of {len(used)} plants: {mean:.1f} new seeds; stopping early saves {NUM_NEW - mean:.1f}."
    yield made(gates, start)
