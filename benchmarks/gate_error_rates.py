"""How often the statistical gate is wrong: false alarms, and wrong passes at exactly the margin.

Every gate has returns of its own from a known distribution: 20 seeds of reference, up to 10 new ones, looked
at after 3, 5 and 10, through ``judge_many``. Writes the tables of ``docs/explanation/statistical-gate.md``;
exits 1 when more false alarms come out than 5 % explain. One seed, so that the same numbers come out again.

    python benchmarks/gate_error_rates.py [--only false-alarms|margin] [--gates N] [--margin-gates N]
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.stats
from small_samples import IN_WORDS, SHAPES

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))

from reprokit.core.statistics.gate import ManyOutcomes, judge_many  # noqa: E402
from reprokit.core.statistics.gate_plan import Conclusion, Metric, PlanOfLooks  # noqa: E402

Values = npt.NDArray[np.float64]

PAGE = SOURCE / "docs/explanation/statistical-gate.md"
SEED = 20261122
NUM_REFERENCE = 20
JUDGED = ("normal", "ceiling", "bimodal")
MARGIN = 1.5  # standard deviations of the returns
SHARE_FAILING = 0.2
BLOCK = 500  # gates that share the splits that are drawn
PLAN = PlanOfLooks()
POWER_DRAWS = 100


def standard_deviation(shape: str) -> float:
    grid = (np.arange(200_000) + 0.5) / 200_000
    return float(SHAPES[shape](grid).std())


def drawn(shape: str, gates: int, generator: np.random.Generator) -> tuple[Values, Values]:
    """Reference and new returns of gates in which nothing changed, shape (gates, 1, seeds)."""
    values = SHAPES[shape](generator.random((gates, 1, NUM_REFERENCE + PLAN.looks[-1])))
    return values[..., :NUM_REFERENCE], values[..., NUM_REFERENCE:]


def false_alarms(shape: str, gates: int) -> tuple[list[int], int]:
    """Number of regressions that were found at each look, and how many of them said worse."""
    generator = np.random.default_rng([SEED, JUDGED.index(shape)])
    metrics = [Metric(name=shape, margin=1.0)]
    return alarms_of(
        lambda count: drawn(shape, count, generator), gates, metrics=metrics, generator=generator
    )


def alarms_of(
    draw: Callable[[int], tuple[Values, Values]],
    gates: int,
    *,
    metrics: Sequence[Metric],
    generator: np.random.Generator,
) -> tuple[list[int], int]:
    """Number of regressions at each look, and how many of them said worse, in gates that ``draw`` makes.

    All looks are made, as if no margin were ever wide enough: so most alarms can be raised.
    """
    at_looks, num_worse = [0] * len(PLAN.looks), 0
    for start in range(0, gates, BLOCK):
        reference, new = draw(min(BLOCK, gates - start))
        found = judge_many(reference, new, metrics=metrics, generator=generator, plan=PLAN, with_power=False)
        alarmed = found.conclusions == Conclusion.REGRESSION
        for look in range(len(PLAN.looks)):
            at_looks[look] += int(np.count_nonzero(alarmed & (found.looks == look)))
        num_worse += int(np.count_nonzero(found.worse))
    return at_looks, num_worse


def at_margin(shape: str, gates: int, *, change: str) -> ManyOutcomes:
    """Gates whose new returns are lower by the margin in the mean: each seed, or one seed in five."""
    generator = np.random.default_rng([SEED, 100 + JUDGED.index(shape)])
    margin = MARGIN * standard_deviation(shape)
    reference, new = drawn(shape, gates, generator)
    failing = generator.random(new.shape) < SHARE_FAILING
    drop = {
        "none": 0.0,
        "every seed": margin,
        "one seed in five": np.where(failing, margin / SHARE_FAILING, 0.0),
    }[change]
    return judge_many(
        reference,
        new - drop,
        metrics=[Metric(name=shape, margin=margin)],
        generator=generator,
        plan=PlanOfLooks(power_draws=POWER_DRAWS),
    )


def rate(hits: int, total: int) -> str:
    """A share in percent with its exact 95 % interval."""
    low, high = scipy.stats.binomtest(hits, total).proportion_ci(method="exact")
    return f"{100 * hits / total:.2f} [{100 * low:.2f}, {100 * high:.2f}]"


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def machine() -> str:
    """The processor, how many cores it has here, and how busy they were."""
    found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    name = found[1].strip() if found else platform.machine()
    return f"{name}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def told(start: float, gates: int) -> str:
    minutes = (time.perf_counter() - start) / 60
    return f"{gates:,} gates a row, seed {SEED}; {minutes:.1f} minutes on {machine()}."


def false_alarm_lines(gates: int, *, too_many: list[str]) -> Iterator[str]:
    start = time.perf_counter()
    rows = []
    for shape in JUDGED:
        at_looks, num_worse = false_alarms(shape, gates)
        alarms = sum(at_looks)
        if alarms > scipy.stats.binom.ppf(0.999, gates, PLAN.alpha):
            too_many.append(f"{shape}: {alarms} of {gates}")
        rows.append(
            [
                IN_WORDS[shape],
                rate(alarms, gates),
                *(f"{100 * one / gates:.2f}" for one in at_looks),
                f"{100 * num_worse / gates:.2f}",
            ]
        )
    looks = [f"at {count} seeds" for count in PLAN.looks]
    yield from table(["returns", "false alarms, % [95 % interval]", *looks, "of them worse"], rows)
    yield ""
    yield told(start, gates)


def margin_lines(gates: int) -> Iterator[str]:
    start = time.perf_counter()
    rows = []
    for shape in JUDGED:
        for change in ("none", "every seed", "one seed in five"):
            found = at_margin(shape, gates, change=change)
            counts = [int(np.count_nonzero(found.conclusions == one)) for one in Conclusion]
            seeds = np.mean([PLAN.looks[look] for look in found.looks])
            rows.append([IN_WORDS[shape], change, *(rate(one, gates) for one in counts), f"{seeds:.1f}"])
    yield from table(["returns", "drop in", *(f"{one}, %" for one in Conclusion), "new seeds"], rows)
    yield ""
    yield told(start, gates)


def with_section(page: str, name: str, lines: list[str]) -> str:
    begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
    before, _, rest = page.partition(begin)
    return "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{rest.partition(end)[2]}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("false-alarms", "margin"))
    parser.add_argument("--gates", type=int, default=10_000)
    parser.add_argument("--margin-gates", type=int, default=1_000)
    options = parser.parse_args()
    too_many: list[str] = []
    if options.only != "margin":
        lines = list(false_alarm_lines(options.gates, too_many=too_many))
        PAGE.write_text(with_section(PAGE.read_text(), "false-alarms", lines))
    if options.only != "false-alarms":
        lines = list(margin_lines(options.margin_gates))
        PAGE.write_text(with_section(PAGE.read_text(), "margin", lines))
    print(f"written: {PAGE.relative_to(SOURCE)}")
    for one in too_many:
        print(f"more false alarms than {PLAN.alpha:.0%} explains: {one}", file=sys.stderr)
    return int(bool(too_many))


if __name__ == "__main__":
    sys.exit(main())
