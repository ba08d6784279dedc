"""Every recipe over five seeds, next to what its document promises: writes ``docs/reference/five-seeds.md``.

    python benchmarks/five_seeds.py [RECIPE …] [--runs-dir DIR] [--backend docker|local]

With names, only their rows are made again. Runs `reprokit sweep RECIPE --seeds 42,123,456,789,1024` for each,
which makes the runs that are not there. Ends with 1 where a seed has no finished run, and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiment_3 import Run, swept
from gate_error_rates import SOURCE, table, with_section

from reprokit import recipes
from reprokit.core.statistics.intervals import student_t
from reprokit.core.statistics.summary import summarise

PAGE = SOURCE / "docs/reference/five-seeds.md"
SEEDS = (42, 123, 456, 789, 1024)
#: What the documents that this project was created from say of a result.
PROMISED = {
    ("cartpole_baseline", "final/return_mean"): "489.5 ± 8.2",
    ("cartpole_multiseed", "final/return_mean"): "488.7 ± 4.3",
    ("cartpole_tuned", "final/return_mean"): "497.8 ± 3.1",
    ("cartpole_dqn", "final/return_mean"): "above 195",
}
HEAD = ("recipe", "result", *(f"seed {seed}" for seed in SEEDS), "mean ± sd", "median")


def rows_of(name: str, metrics: Sequence[str], runs: Mapping[int, Run]) -> Iterator[list[str]]:
    for metric in metrics:
        values = [runs[seed].values[metric] for seed in SEEDS]
        found, interval = summarise(values), student_t(values)
        yield [
            name,
            metric,
            *(short(value) for value in values),
            f"{short(found.mean)} ± {short(found.std)}",
            short(found.median),
            "none" if interval.low is None else f"{interval.low:.4g} to {interval.high:.4g}",
            PROMISED.get((name, metric), ""),
        ]


def short(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def rows_on(page: str) -> dict[tuple[str, str], str]:
    """Recipe and result → its line in the table as it stands."""
    cells = [(line, line.split(" | ")) for line in page.splitlines() if line.startswith("| ")]
    return {(row[0].removeprefix("| "), row[1]): line for line, row in cells}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recipes", nargs="*", help="only these; by default all")
    parser.add_argument("--runs-dir", type=Path, help="folder of runs; by default that of this project")
    parser.add_argument("--backend", choices=("docker", "local"))
    options = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    lines: list[str] = []
    for name in recipes.list_names(SOURCE / "recipes"):
        if options.recipes and name not in options.recipes:
            lines += [line for (recipe, _), line in rows_on(page).items() if recipe == name]
            continue
        recipe = recipes.load(name, recipes_dir=SOURCE / "recipes")
        words = ["--backend", options.backend] if options.backend else []
        words += ["--runs-dir", str(options.runs_dir / name)] if options.runs_dir else []
        metrics = tuple(recipe.expected)
        runs = swept(words, recipe=name, seeds=SEEDS, metrics=metrics)
        lines += ["| " + " | ".join(row) + " |" for row in rows_of(name, metrics, runs)]
    head = table([*HEAD, "95 % t-interval of the mean", "document says"], [])
    PAGE.write_text(with_section(page, "results", [*head, *lines]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
