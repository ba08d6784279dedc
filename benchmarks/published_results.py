"""Other people's results next to ours at their settings: can they be told apart?

    python benchmarks/published_results.py run        # ten seeds of each; continues where it was stopped
    python benchmarks/published_results.py table      # writes docs/explanation/what-one-seed-hides.md

CleanRL publishes means and standard deviations over three seeds (commit fe8d8a03 of its documentation). The
three returns behind them are not there, so every triple that has this mean and deviation is judged, by the
gate itself with one look.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gate_data import DATA as RETURNS
from gate_data import NULL, SOURCE
from gate_data import read as read_returns
from gate_error_rates import SEED, Values, table, with_section
from learning_regressions import PLANTS

from reprokit.core.statistics.gate import judge
from reprokit.core.statistics.gate_plan import Metric, PlanOfLooks
from reprokit.core.statistics.intervals import student_t

PAGE = SOURCE / "docs/explanation/what-one-seed-hides.md"
DATA = SOURCE / "benchmarks/data/cleanrl_settings.jsonl"
SEEDS = "0..9"
#: The mean return of the last 100 episodes of training, as CleanRL's tables have it.
METRIC = "train/episodic_return"
PLAN = PlanOfLooks(looks=(3,))
ANGLES = 120  # triples of one mean and deviation that are tried

PPO = (
    "environment.num_envs=4",
    "environment.normalize_obs=false",
    "environment.normalize_reward=false",
    "model.hidden_sizes=[64,64]",
    "model.activation=tanh",
    "training.total_timesteps=500000",
    "training.rollout_steps=128",
    "training.batch_size=128",
    "training.n_epochs=4",
    "training.learning_rate=2.5e-4",
    "training.lr_warmup_steps=0",
    "training.clip_range_vf=0.2",
    "training.vf_coef=0.25",  # theirs halves the squared error before it is weighted with 0.5
    "training.target_kl=null",
    "logging.eval_interval=500000",
    "logging.save_interval=500000",
)
DQN = (
    "model.hidden_sizes=[120,84]",
    "training.total_timesteps=500000",
    "training.learning_rate=2.5e-4",
    "training.batch_size=128",
    "training.epsilon_end=0.05",
    "training.epsilon_decay=250000",
    "training.learning_starts=10000",
    "training.train_frequency=10",
    "training.target_update=50",  # updates; theirs are 500 steps
    "logging.log_interval=5000",
    "logging.eval_interval=500000",
    "logging.save_interval=500000",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A cell of CleanRL's tables.

    Attributes:
        mean, deviation: Of three seeds; the deviation is divided by three.
        most: No return can be above it.
        margin: A drop that someone who compares would call large: a tenth of the range of returns.
    """

    algorithm: str
    environment: str
    recipe: str
    settings: tuple[str, ...]
    mean: float
    deviation: float
    most: float
    margin: float

    @property
    def name(self) -> str:
        return f"{self.algorithm} {self.environment}"


CARTPOLE, ACROBOT = "CartPole-v1", "Acrobot-v1"
TABLES = tuple(
    Published(
        algorithm=algorithm,
        environment=environment,
        recipe=recipe,
        settings=(*settings, f"environment.name={environment}"),
        mean=mean,
        deviation=deviation,
        most=500.0 if environment == CARTPOLE else 0.0,
        margin=50.0,
    )
    for algorithm, recipe, settings, environment, mean, deviation in (
        ("PPO", "cartpole_tuned", PPO, CARTPOLE, 490.04, 6.12),
        ("PPO", "cartpole_tuned", PPO, ACROBOT, -86.36, 1.32),
        ("DQN", "cartpole_dqn", DQN, CARTPOLE, 488.69, 16.11),
        ("DQN", "cartpole_dqn", DQN, ACROBOT, -91.54, 7.20),
    )
)


def make_runs(one: Published, runs_dir: Path, *, backend: str) -> list[dict[str, object]]:
    """Ten seeds at CleanRL's settings; what is kept of each.

    Raises:
        RuntimeError: Some members are not complete.
    """
    swept = subprocess.run(
        [
            *(sys.executable, "-m", "reprokit", "sweep", one.recipe, "--seeds", SEEDS),
            *(word for setting in one.settings for word in ("--set", setting)),
            *("--backend", backend, "--runs-dir", str(runs_dir), "--json"),
        ],
        cwd=SOURCE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        check=False,
    )
    if swept.returncode:
        raise RuntimeError(f"{one.name}: some members are not complete; the same command goes on")
    return [
        kept(one, member, runs_dir / member["run"] / "metrics.jsonl")
        for member in json.loads(swept.stdout)["members"]
    ]


def kept(one: Published, member: Mapping[str, object], metrics: Path) -> dict[str, object]:
    content = metrics.read_bytes()
    last = json.loads(content.splitlines()[-1])
    return {
        "table": one.name,
        "seed": member["seed"],
        "training": last[METRIC],
        "greedy": last["final/return_mean"],
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def results(one: Published, column: str) -> Values:
    """The returns of our seeds, in the order of the seeds."""
    lines = map(json.loads, DATA.read_text(encoding="utf-8").splitlines())
    return np.array([line[column] for line in lines if line["table"] == one.name])


def triples(one: Published) -> Iterator[Values]:
    """Returns of three seeds that have the published mean and deviation, none above what is possible."""
    for angle in np.linspace(0, np.pi / 3, ANGLES):
        around = np.cos(angle + 2 * np.pi / 3 * np.arange(3))
        triple = one.mean + one.deviation * np.sqrt(2) * around
        if triple.max() <= one.most + 0.1:  # published with two digits
            yield triple


def judged(one: Published) -> tuple[float, float, float | None]:
    """Least and largest p-value over all triples, and the smallest drop that three such seeds would show."""
    ours = results(one, "training")
    metric = Metric(name=METRIC, margin=one.margin)
    found = [
        judge(
            {METRIC: ours.tolist()},
            {METRIC: triple.tolist()},
            metrics=[metric],
            generator=np.random.default_rng(SEED),
            plan=PLAN,
        ).metrics[0]
        for triple in triples(one)
    ]
    p_values = [each.p_value for each in found]
    return min(p_values), max(p_values), found[0].smallest_visible_drop


def published_lines() -> Iterator[str]:
    head = ["", "CleanRL, 3 seeds", "here, 10 seeds", "95 % interval of the mean", "lowest and highest seed"]
    head += ["here, greedy", "p of the gate", "told apart at 5 %", "smallest visible drop"]
    rows = []
    for one in TABLES:
        ours, greedy = results(one, "training"), results(one, "greedy")
        interval = student_t(ours.tolist())
        low, high, visible = judged(one)
        apart = "yes" if high <= PLAN.alpha else "no" if low > PLAN.alpha else "depends on their seeds"
        rows.append(
            [
                one.name,
                f"{one.mean:.2f} ± {one.deviation:.2f}",
                f"{ours.mean():.2f} ± {ours.std():.2f}",
                "none" if interval.low is None else f"{interval.low:.1f} to {interval.high:.1f}",
                f"{ours.min():.1f}, {ours.max():.1f}",
                f"{greedy.mean():.1f} ± {greedy.std():.1f}",
                f"{low:.3f}" if f"{low:.3f}" == f"{high:.3f}" else f"{low:.3f} to {high:.3f}",
                apart,
                "none" if visible is None else f"{visible:.1f}",
            ]
        )
    yield from table(head, rows)


def one_seed_lines() -> Iterator[str]:
    """How often one run against one run, or three against three, says the wrong thing."""
    returns = read_returns(RETURNS / "cartpole_baseline.jsonl")
    null = np.array([np.mean(run.evaluations) for run in returns.of(NULL)])
    finals = np.array([run.final for run in returns.of(NULL)])
    generator = np.random.default_rng(SEED)
    rows = []
    for plant in PLANTS:
        if plant.recipe != returns.recipe:
            continue
        runs = returns.of(plant.name)
        planted = np.array([np.mean(run.evaluations) for run in runs])
        planted_finals = np.array([run.final for run in runs])
        rows.append(
            [
                plant.what,
                share(planted_finals[:, None] >= finals[None, :]),
                share(planted[:, None] >= null[None, :]),
                f"{three_against_three(null, planted, generator):.0%}",
            ]
        )
    head = ["planted fault", "final return as high or higher", "mean return as high or higher"]
    yield from table([*head, "three against three: mean as high or higher"], rows)
    pairs = np.abs(finals[:, None] - finals[None, :])[np.triu_indices(len(finals), 1)]
    yield ""
    yield (
        f"{len(null)} seeds of {returns.recipe}; every pair, and 10,000 draws of three against three. Two "
        f"seeds of the unchanged recipe end {np.median(pairs):.1f} apart in the median and "
        f"{np.quantile(pairs, 0.95):.1f} in one pair of twenty."
    )


def three_against_three(null: Values, planted: Values, generator: np.random.Generator) -> float:
    draws = 10_000
    before = generator.choice(null, (draws, 3)).mean(axis=1)
    after = generator.choice(planted, (draws, 3)).mean(axis=1)
    return float((after >= before).mean())


def share(found: Values) -> str:
    return f"{found.mean():.0%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--runs-dir", type=Path, default=SOURCE / "build/published_results")
    parser.add_argument("--backend", default="auto")
    asked = parser.parse_args()
    if asked.command == "run":
        lines = [line for one in TABLES for line in make_runs(one, asked.runs_dir, backend=asked.backend)]
        DATA.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return 0
    page = PAGE.read_text(encoding="utf-8")
    page = with_section(page, "published", list(published_lines()))
    PAGE.write_text(with_section(page, "one-seed", list(one_seed_lines())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
