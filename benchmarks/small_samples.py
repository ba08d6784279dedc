"""What intervals cover and what tests see with few seeds, by simulation.

Writes the tables that ``reprokit stats`` quotes (``reprokit/core/statistics/measured.py``) and the page that
explains them (``docs/explanation/small-samples.md``). One seed, so that the same numbers come out again.

    python benchmarks/small_samples.py [--draws N] [--page-only]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.special
import scipy.stats

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))

from reprokit.core.statistics import intervals, measured  # noqa: E402
from reprokit.features.sweeps.statistics.hypothesis_tests import EFFECTS  # noqa: E402

Values = npt.NDArray[np.float64]
Table = dict[int, float]

MODULE = SOURCE / "reprokit/core/statistics/measured.py"
PAGE = SOURCE / "docs/explanation/small-samples.md"
BEGIN, END = "<!-- begin: small_samples.py -->", "<!-- end: small_samples.py -->"
SEED = 20261122
SEEDS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 50, 100)
BLOCK = 500  # draws that share the resamples


def bimodal(uniform: Values) -> Values:
    """One seed in five fails: far below the others."""
    failed = uniform < 0.2
    inside = np.where(failed, uniform / 0.2, (uniform - 0.2) / 0.8)
    return 0.1 * scipy.special.ndtri(np.clip(inside, 1e-12, 1 - 1e-12)) - 5 * failed


#: Shape of the returns → its quantile function.
SHAPES: Mapping[str, Callable[[Values], Values]] = {
    "normal": scipy.special.ndtri,
    "ceiling": lambda uniform: np.minimum(scipy.special.ndtri(uniform), 0.0),
    "bimodal": bimodal,
    "skewed": lambda uniform: -np.log1p(-uniform),
}
IN_WORDS = {
    "normal": "normal",
    "ceiling": "half of the seeds tied at a ceiling",
    "bimodal": "one seed in five fails",
    "skewed": "exponential",
}


def truth(shape: str, of: str) -> float:
    """Mean, or mean of the middle half, of a distribution."""
    grid = (np.arange(2_000_000) + 0.5) / 2_000_000
    if of == "iqm":
        grid = 0.25 + grid / 2
    return float(SHAPES[shape](grid).mean())


def coverage(method: str, shape: str, *, draws: int, generator: np.random.Generator) -> Table:
    """Number of seeds → share of the intervals, among those that are given, that hold the true value."""
    of = "iqm" if method.endswith("iqm") else "mean"
    expected, found = truth(shape, of), {}
    for count in SEEDS:
        hits = given = 0
        for _ in range(draws // BLOCK):
            rows = SHAPES[shape](generator.random((BLOCK, count)))
            rows = rows[(rows != rows[:, :1]).any(axis=1)]  # equal values are refused
            if method == "student_t":
                low, high = intervals.t_limits(rows)
            else:
                low, high = intervals.bootstrap_limits(rows, of=of, generator=generator)
            hits += int(np.count_nonzero((low <= expected) & (expected <= high)))
            given += len(rows)
        found[count] = round(hits / given, 3)
    return found


def power(test: str, *, draws: int, generator: np.random.Generator) -> Table:
    """Seeds in each group → how often the test finds its effect at 5 %."""
    found = {}
    for count in SEEDS:
        if test == "shapiro_wilk":
            p_values = (
                scipy.stats.shapiro(generator.exponential(size=(draws, count)), axis=1).pvalue
                if count > 2
                else 1
            )
        elif test == "mann_whitney":
            p_values = rank_sum(
                generator.normal(size=(draws, count)), generator.normal(size=(draws, count)) + 1
            )
        elif count < 3:
            p_values = 1
        else:
            centre = "median" if test == "brown_forsythe" else "mean"
            sides = generator.normal(size=(draws, count)), 3 * generator.normal(size=(draws, count))
            p_values = scipy.stats.levene(*sides, center=centre, axis=1).pvalue
        found[count] = round(float(np.mean(np.broadcast_to(p_values, draws) <= 0.05)), 3)
    return found


def rank_sum(first: Values, second: Values) -> Values:
    """Exact below ten seeds, as ``hypothesis_tests`` does it; above, the normal approximation."""
    method = "exact" if first.shape[1] < 10 else "asymptotic"
    return scipy.stats.mannwhitneyu(first, second, axis=1, method=method).pvalue


def module_text(covered: Mapping[str, Mapping[str, Table]], powers: Mapping[str, Table]) -> str:
    lines = [
        '"""What intervals cover and tests see, by seeds: written by benchmarks/small_samples.py."""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping",
        "",
        "LEVEL = 0.95",
        "",
        "#: Method → shape of the returns → number of seeds → share of intervals that held the true value.",
        f"COVERAGE: Mapping[str, Mapping[str, Mapping[int, float]]] = {covered!r}",
        "",
        "#: Test → seeds in each group → how often it finds its ``hypothesis_tests.EFFECTS`` at 5 %.",
        f"POWER: Mapping[str, Mapping[int, float]] = {powers!r}",
        "",
        "",
        "def at_most(by_seeds: Mapping[int, float], num_seeds: int) -> float | None:",
        '    """The number for the largest count that was simulated and is not larger; None below all."""',
        "    fitting = [count for count in by_seeds if count <= num_seeds]",
        "    return by_seeds[max(fitting)] if fitting else None",
        "",
    ]
    return "\n".join(lines)


def page_tables(covered: Mapping[str, Mapping[str, Table]], powers: Mapping[str, Table]) -> str:
    """The tables of the page, from the numbers of the module."""
    names = {
        "student_t": "Student's t, mean",
        "bootstrap_mean": "percentile bootstrap, mean",
        "bootstrap_iqm": "percentile bootstrap, interquartile mean",
    }
    lines = []
    for shape in SHAPES:
        lines += [
            f"Returns: {IN_WORDS[shape]}.",
            "",
            *_table("interval", {names[m]: covered[m][shape] for m in covered}),
            "",
        ]
    lines += [
        "Power at 5 %, by seeds in each group:",
        "",
        *_table(
            "test",
            {f"{test.replace('_', ' ')}: {effect}": powers[test] for test, effect in EFFECTS.items()},
        ),
    ]
    return "\n".join(lines)


def _table(first: str, rows: Mapping[str, Table]) -> list[str]:
    head = [first, *map(str, SEEDS)]
    body = [[name, *(f"{100 * row[count]:.0f}" for count in SEEDS)] for name, row in rows.items()]
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]


def with_tables(page: str, tables: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.partition(END)[2]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument(
        "--page-only", action="store_true", help="draw the page from the numbers that are there"
    )
    options = parser.parse_args()
    if not options.page_only:
        generator = np.random.default_rng(SEED)
        covered = {
            method: {
                shape: coverage(method, shape, draws=options.draws, generator=generator) for shape in SHAPES
            }
            for method in ("student_t", "bootstrap_mean", "bootstrap_iqm")
        }
        powers = {
            test: power(test, draws=options.draws, generator=generator)
            for test in ("shapiro_wilk", "brown_forsythe", "levene", "mann_whitney")
        }
        MODULE.write_text(module_text(covered, powers))
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", MODULE], check=True, cwd=SOURCE)
        print(f"written: {MODULE.relative_to(SOURCE)}")
    else:
        covered, powers = measured.COVERAGE, measured.POWER
    PAGE.write_text(with_tables(PAGE.read_text(), page_tables(covered, powers)))
    print(f"written: {PAGE.relative_to(SOURCE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
