"""Experiment 3 of the reproduction document with our numbers next to its own.

Runs `reprokit sweep cartpole_baseline --seeds 42,123,456,789,1024`, which makes the runs that are not there,
and writes the tables of ``docs/reference/experiment-3.md``. With finished runs it takes seconds. Ends with 1
where a seed has no finished run; then nothing is written.

    python benchmarks/experiment_3.py [--runs-dir DIR] [--backend docker|local]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gate_error_rates import table, with_section

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE))

from reprokit.core.statistics import permutation  # noqa: E402
from reprokit.core.statistics.intervals import student_t  # noqa: E402
from reprokit.core.statistics.summary import summarise  # noqa: E402
from reprokit.features.sweeps.statistics.hypothesis_tests import shapiro_wilk  # noqa: E402

PAGE = SOURCE / "docs/reference/experiment-3.md"
RECIPE = "cartpole_baseline"
METRICS = ("final/return_mean", "final/return_std", "final/return_min", "final/success_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What the document says: per seed mean and deviation over episodes, and what it makes of them."""

    seeds: Mapping[int, tuple[float, float]]
    mean: str
    std: str
    least: str
    most: str
    interval: str
    normality: str
    variance: str


DOCUMENT = Document(
    seeds={42: (489.5, 8.2), 123: (495.6, 6.1), 456: (482.1, 11.3), 789: (487.9, 9.7), 1024: (488.4, 7.8)},
    mean="488.7",
    std="4.3",
    least="482.1",
    most="495.6",
    interval="[484.4, 493.0]",
    normality="0.45",
    variance="0.67",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One finished run: its last values, and where and when it was made."""

    values: Mapping[str, float]
    machine: str
    day: str
    duration_s: float


def swept(
    words: Sequence[str],
    *,
    recipe: str = RECIPE,
    seeds: Sequence[int] = tuple(DOCUMENT.seeds),
    metrics: Sequence[str] = METRICS,
) -> dict[int, Run]:
    """Make what is missing of the sweep; the finished run of each seed, with the last values of ``metrics``.

    Raises:
        SystemExit: A seed has none.
    """
    listed = ",".join(map(str, seeds))
    command = [sys.executable, "-m", "reprokit", "sweep", recipe, "--seeds", listed, "--json", *words]
    done = subprocess.run(command, cwd=SOURCE, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(1)
    answer = json.loads(done.stdout)
    runs_dir = Path(answer["path"]).parents[2]
    return {member["seed"]: read(runs_dir / member["run"], metrics) for member in answer["members"]}


def read(folder: Path, metrics: Sequence[str] = METRICS) -> Run:
    """The last values of a run, and the machine that it was made on."""
    *_, last = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    record, found = json.loads((folder / "run.json").read_text(encoding="utf-8")), json.loads(last)
    host = json.loads((folder / "environment.json").read_text(encoding="utf-8"))["host"]
    cores = f"{host['cpu']['usable']} cores, {host['memory']['total_bytes'] / 2**30:.0f} GiB"
    return Run(
        values={name: float(found[name]) for name in metrics},
        machine=f"{host['cpu']['model']}, {cores}, backend {record['backend']}",
        day=record["started_at"][:10],
        duration_s=float(record["duration_s"]),
    )


def lines(runs: Mapping[int, Run]) -> Iterator[str]:
    """Both tables, and the machine."""
    yield from table(
        ["seed", "document", "here", "here, lowest episode", "here, success rate"], list(rows_of(runs))
    )
    yield ""
    ours = [runs[seed].values[METRICS[0]] for seed in DOCUMENT.seeds]
    theirs = [mean for mean, _ in DOCUMENT.seeds.values()]
    head = ["over the five means", "document says", "its own five numbers give", "here"]
    yield from table(head, list(rows_over_seeds(theirs, ours)))
    yield ""
    yield from remarks(theirs, ours)
    yield ""
    machines = "; ".join(dict.fromkeys(one.machine for one in runs.values()))
    days = " and ".join(dict.fromkeys(one.day for one in runs.values()))
    seconds = sorted(one.duration_s for one in runs.values())
    yield f"Runs of {days} on {machines}; {seconds[0]:.0f} to {seconds[-1]:.0f} s each, several side by side."


def rows_of(runs: Mapping[int, Run]) -> Iterator[list[str]]:
    for seed, (mean, std) in DOCUMENT.seeds.items():
        found = runs[seed].values
        ours = f"{found['final/return_mean']:.2f} ± {found['final/return_std']:.2f}"
        least, success = f"{found['final/return_min']:.0f}", f"{found['final/success_rate']:.2f}"
        yield [str(seed), f"{mean} ± {std}", ours, least, success]


def rows_over_seeds(theirs: Sequence[float], ours: Sequence[float]) -> Iterator[list[str]]:
    first, second = summarise(theirs), summarise(ours)
    yield ["mean", DOCUMENT.mean, number(first.mean), number(second.mean)]
    yield ["standard deviation, divided by n − 1", "", number(first.std), number(second.std)]
    yield [
        "standard deviation, divided by n",
        DOCUMENT.std,
        *(number(float(np.std(one))) for one in (theirs, ours)),
    ]
    yield ["minimum", DOCUMENT.least, number(first.min), number(second.min)]
    yield ["maximum", DOCUMENT.most, number(first.max), number(second.max)]
    yield ["median", "", number(first.median), number(second.median)]
    yield ["interquartile mean", "", number(first.iqm), number(second.iqm)]
    yield ["95 % t-interval of the mean", DOCUMENT.interval, interval(theirs), interval(ours)]
    normal = [shapiro_wilk(one) for one in (theirs, ours)]
    yield ["Shapiro–Wilk p", DOCUMENT.normality, *(number(one.p_value, as_=".2g") for one in normal)]
    yield ["equal variances p", DOCUMENT.variance, "not possible", "not possible"]


def remarks(theirs: Sequence[float], ours: Sequence[float]) -> Iterator[str]:
    """What the numbers say, and what they do not."""
    generator = np.random.default_rng(0)
    p_value = float(permutation.two_sided(np.array(theirs), np.array([ours]), generator=generator)[0])
    least = permutation.splits(len(theirs), len(ours), generator=generator).smallest_p
    covered, normal = student_t(ours).coverage, shapiro_wilk(theirs)
    tied, top = sum(one == max(ours) for one in ours), f"{max(ours):g}"
    yield from item(
        f"The exact permutation test of the two sets of five means: p = {p_value:.2g}, the least that five "
        f"against five can give being {least:.2g}."
    )
    yield from item(
        f"Here {tied} of {len(ours)} seeds end at {top}. No return of CartPole-v1 is above 500, whatever the "
        "interval says."
    )
    ceiling, bimodal = covered["ceiling"], covered["bimodal"]
    yield from item(
        f"A 95 % t-interval over five seeds holds the true mean in {ceiling:.0%} of cases where half of the "
        f"returns are tied at a ceiling, and in {bimodal:.0%} where one seed in five fails."
    )
    yield from item(
        f"The Shapiro–Wilk test over five seeds sees returns that are {normal.effect} with "
        f"{normal.power or 0:.0%} power: a large p-value says little."
    )


def item(text: str) -> list[str]:
    return textwrap.wrap(f"- {text}", 118, subsequent_indent="  ", break_on_hyphens=False)


def interval(values: Sequence[float]) -> str:
    found = student_t(values)
    return f"[{number(found.low)}, {number(found.high)}]" if found.low is not None else found.refused


def number(value: float | None, *, as_: str = ".2f") -> str:
    return "–" if value is None else f"{value:{as_}}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs-dir", help="folder of runs; by default that of this project")
    parser.add_argument("--backend", choices=("docker", "local"))
    options = parser.parse_args()
    words = [
        word
        for name, value in vars(options).items()
        if value
        for word in (f"--{name.replace('_', '-')}", value)
    ]
    runs = swept(words)
    PAGE.write_text(
        with_section(PAGE.read_text(encoding="utf-8"), "results", list(lines(runs))), encoding="utf-8"
    )
    print(f"written: {PAGE.relative_to(SOURCE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
