"""How fast the tuned PPO trains, against Stable-Baselines3's PPO and CleanRL's ppo.py at its settings.

16 environments, 256-256 relu, minibatches of 512, 20 epochs, an early stop by KL, one thread; no evaluations.
Stable-Baselines3 normalises observations and rewards as ours does (VecNormalize). CleanRL's ppo.py normalises
nothing, which is in its favour, and its networks are widened in the source. An early stop and another policy
mean another number of minibatches, so what is compared is CPU time of the whole training over the number of
steps of the optimizer. Prints a table, then one JSON object; exits 1 when a bound is missed.

    python benchmarks/training_tuned.py --cleanrl CLONE [--steps N] [--repeats N] [--profile portable]
"""

# ruff: noqa: PLC0415 - the training runs in another interpreter, which has torch and not the tool's packages

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import race
from race import OURS, PROJECT

SEED, STEPS, NUM_ENVS, ROLLOUT, BATCH, EPOCHS = 42, 65_536, 16, 256, 512, 20
#: profile → how many times the faster of the others
RATIOS = {"native": 2.0, "portable": 2.0}


def train_ours(steps: int, _: Path | None):
    from reprokit.runtime import config
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.run import Run

    trainer = load_trainer(PROJECT / "recipes" / "trainers" / "ppo_tuned.py")
    settings = config.build(
        trainer.Config,
        {
            "environment": {"name": "CartPole-v1", "num_envs": NUM_ENVS},
            "training": {"total_timesteps": steps, "rollout_steps": ROLLOUT},
            "logging": {"eval_interval": 10**9, "save_interval": 10**9, "final_eval_episodes": 1},
        },
    )
    with Run.open(Path.cwd(), seed=SEED, device="cpu", clock=time.perf_counter) as run:
        yield
        trainer.train(settings, run)
    records = (json.loads(line) for line in Path("metrics.jsonl").read_text().splitlines())
    yield sum(record["optim/num_steps"] for record in records)


def train_sb3(steps: int, _: Path | None):
    import torch
    import torch._dynamo
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    model = PPO(
        "MlpPolicy",
        VecNormalize(make_vec_env("CartPole-v1", NUM_ENVS, seed=SEED)),
        n_steps=ROLLOUT,
        batch_size=BATCH,
        n_epochs=EPOCHS,
        learning_rate=lambda remaining: 2.5e-4 * remaining,
        ent_coef=0.01,
        target_kl=0.01,
        policy_kwargs={"net_arch": [256, 256], "activation_fn": torch.nn.ReLU},
        seed=SEED,
        device="cpu",
    )
    count = counted(model.policy.optimizer)
    yield
    model.learn(steps)
    yield count()


def train_cleanrl(steps: int, clone: Path | None):
    import torch
    import torch._dynamo
    import tyro  # noqa: F401
    from torch.utils import tensorboard  # noqa: F401

    source = (clone / "cleanrl" / "ppo.py").read_text()
    wide = source.replace(", 64)", ", 256)").replace("(64, ", "(256, ").replace("nn.Tanh()", "nn.ReLU()")
    assert wide.count("256") == 8, "CleanRL's networks are not what they were"
    made = []
    adam = torch.optim.Adam

    class Counting(adam):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(counted(self))

    torch.optim.Adam = Counting
    sys.argv = [
        "ppo.py",
        "--no-cuda",
        "--no-clip-vloss",
        f"--seed={SEED}",
        f"--num-envs={NUM_ENVS}",
        f"--num-steps={ROLLOUT}",
        f"--total-timesteps={steps}",
        f"--update-epochs={EPOCHS}",
        f"--num-minibatches={NUM_ENVS * ROLLOUT // BATCH}",
        "--learning-rate=2.5e-4",
        "--ent-coef=0.01",
        "--target-kl=0.01",
    ]
    yield
    exec(compile(wide, "ppo.py", "exec"), {"__name__": "__main__", "__file__": "ppo.py"})  # noqa: S102
    yield made[0]()


def counted(optimizer):
    """How many steps an optimizer has done, as a function."""
    step, done = optimizer.step, [0]

    def counting(*args, **kwargs):
        done[0] += 1
        return step(*args, **kwargs)

    optimizer.step = counting
    return lambda: done[0]


CONTESTANTS = {OURS: train_ours, "Stable-Baselines3": train_sb3, "CleanRL": train_cleanrl}


def train_once(name: str, words: argparse.Namespace) -> dict[str, float]:
    """Train in this process: seconds, and steps of the optimizer."""
    seconds, updates = race.timed(CONTESTANTS[name](words.steps, words.cleanrl))
    return {**seconds, "updates": updates}


def judged(profile: str, results: race.Results, *, steps: int) -> dict[str, object]:
    """Milliseconds of CPU a step of the optimizer, and the ratio to the faster of the others; printed."""
    found = {
        name: statistics.median(run["cpu_s"] / run["updates"] * 1e3 for run in runs)
        for name, runs in results.items()
    }
    ratio = min(value for name, value in found.items() if name != OURS) / found[OURS]
    print(f"{profile} profile, {steps:,} steps, {len(results[OURS])} repeats in turns, one thread")
    for name, milliseconds in found.items():
        print(f"  {name:20} {milliseconds:8.2f} ms of CPU a step of the optimizer, with all else")
    word = f"  MISSED: {RATIOS[profile]:g} times" if ratio < RATIOS[profile] else ""
    print(f"  {ratio:.2f} times the faster one{word}")
    return {"ms_a_step": found, "ratio": ratio, "missed": ratio < RATIOS[profile], "runs": results}


def main() -> int:
    words = race.options(__doc__, tuple(RATIOS), steps=STEPS)
    return race.run(
        __file__,
        CONTESTANTS,
        words,
        trained=partial(train_once, words=words),
        told=partial(judged, steps=words.steps),
    )


if __name__ == "__main__":
    sys.exit(main())
