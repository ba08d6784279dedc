"""How fast DQN trains, against CleanRL's dqn.py and Stable-Baselines3's DQN.

Equal settings: those of recipes/cartpole_dqn, on the two hidden layers (120 and 84) that CleanRL's file has,
an update for every step; equal terms: race.py. Prints a table, then one JSON object; exits 1 when a bound is
missed.

    python benchmarks/training_dqn.py --cleanrl CLONE [--repeats N] [--steps N] [--profile portable]

What is compared is the time of the training: no one evaluates (how long that takes says how good a policy
is, not how fast it learns). Imports are not counted, the compiler that `torch.optim.Adam` imports
neither; ours writes its metrics, digests and checkpoints meanwhile, the others write what they write by
themselves.

CleanRL comes from a clone of https://github.com/vwxyzjn/cleanrl (measured at commit fe8d8a0); its file runs
as it is, with the name put back that gymnasium 0.29 had for the last observation of an episode that was cut
off. Stable-Baselines3 has no other loss than Huber's, and clips gradients at its default of 10.
"""

# ruff: noqa: PLC0415 - a contestant imports what it needs, in a process of its own

from __future__ import annotations

import runpy
import statistics
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import race
from race import OURS, PROJECT

SEED, STEPS, HIDDEN = 42, 20_000, (120, 84)
LEARNING_STARTS, BATCH, BUFFER, TARGET_UPDATE = 1_000, 64, 10_000, 100
EPSILON_END, EPSILON_DECAY = 0.01, 10_000
#: how many times the faster of the others, under each profile
BOUND = 2.0
PROFILES = ("native", "portable")


# --- One training, in a process of its own ---------------------------------------------------------


def train_ours(steps: int, _: Path | None) -> Iterator[None]:
    from reprokit.runtime import config
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.run import Run

    trainer = load_trainer(PROJECT / "recipes" / "trainers" / "dqn.py")
    settings = config.build(
        trainer.Config,
        {
            "environment": {"name": "CartPole-v1"},
            "model": {"hidden_sizes": list(HIDDEN)},
            "training": {
                "total_timesteps": steps,
                "batch_size": BATCH,
                "buffer_size": BUFFER,
                "learning_starts": LEARNING_STARTS,
                "target_update": TARGET_UPDATE,
                "epsilon_end": EPSILON_END,
                "epsilon_decay": EPSILON_DECAY,
            },
            "logging": {"eval_interval": steps + 1, "final_eval_episodes": 1},
        },
    )
    with Run.open(Path.cwd(), seed=SEED, device="cpu", clock=time.perf_counter) as run:
        yield
        trainer.train(settings, run)


def train_sb3(steps: int, _: Path | None) -> Iterator[None]:
    import torch._dynamo  # noqa: F401 - its import is not what is measured
    from stable_baselines3 import DQN

    yield
    DQN(
        "MlpPolicy",
        "CartPole-v1",
        learning_rate=3e-4,
        buffer_size=BUFFER,
        learning_starts=LEARNING_STARTS,
        batch_size=BATCH,
        gamma=0.99,
        train_freq=1,
        gradient_steps=1,
        target_update_interval=TARGET_UPDATE,
        exploration_fraction=EPSILON_DECAY / steps,
        exploration_final_eps=EPSILON_END,
        policy_kwargs={"net_arch": list(HIDDEN)},
        seed=SEED,
        device="cpu",
    ).learn(steps)


def train_cleanrl(steps: int, clone: Path | None) -> Iterator[None]:
    import gymnasium
    import torch._dynamo  # noqa: F401 - its import is not what is measured
    import tyro  # noqa: F401 - its import is not what is measured
    from torch.utils import tensorboard  # noqa: F401

    assert clone is not None
    step = gymnasium.vector.SyncVectorEnv.step

    def with_old_name(*args):  # gymnasium 1 hands out a cut episode's last observation itself
        observations, rewards, terminated, truncated, infos = step(*args)
        return observations, rewards, terminated, truncated, {"final_observation": observations, **infos}

    gymnasium.vector.SyncVectorEnv.step = with_old_name
    sys.path.insert(0, str(clone))  # its replay buffer is a module next to its file
    import cleanrl_utils.buffers  # noqa: F401

    sys.argv = [
        "dqn.py",
        "--no-cuda",
        f"--seed={SEED}",
        f"--total-timesteps={steps}",
        "--learning-rate=3e-4",
        f"--buffer-size={BUFFER}",
        "--gamma=0.99",
        f"--target-network-frequency={TARGET_UPDATE}",
        f"--batch-size={BATCH}",
        "--start-e=1.0",
        f"--end-e={EPSILON_END}",
        f"--exploration-fraction={EPSILON_DECAY / steps}",
        f"--learning-starts={LEARNING_STARTS}",
        "--train-frequency=1",
    ]
    yield
    runpy.run_path(str(clone / "cleanrl" / "dqn.py"), run_name="__main__")


CONTESTANTS = {OURS: train_ours, "Stable-Baselines3": train_sb3, "CleanRL": train_cleanrl}


def judged(profile: str, results: race.Results, *, steps: int) -> dict[str, object]:
    """Medians of steps/s and CPU seconds, and the ratios to the faster of the others; printed."""
    found = {
        name: {
            "steps_per_s": steps / statistics.median(run["wall_s"] for run in runs),
            "cpu_s": statistics.median(run["cpu_s"] for run in runs),
        }
        for name, runs in results.items()
    }
    others = [value for name, value in found.items() if name != OURS]
    ratio = found[OURS]["steps_per_s"] / max(value["steps_per_s"] for value in others)
    cpu_ratio = min(value["cpu_s"] for value in others) / found[OURS]["cpu_s"]
    print(f"{profile} profile, {steps:,} steps, {len(results[OURS])} repeats in turns, one thread")
    for name, value in found.items():
        print(f"  {name:20} {value['steps_per_s']:9,.0f} steps/s {value['cpu_s']:7.2f} s of CPU")
    word = f"  MISSED: {BOUND:g} times the faster one" if ratio < BOUND else ""
    print(f"  {ratio:.2f} times the faster one (CPU time: {cpu_ratio:.2f}){word}")
    return {
        "steps": steps,
        "contestants": found,
        "ratio": ratio,
        "cpu_ratio": cpu_ratio,
        "missed": ratio < BOUND,
    }


def main() -> int:
    words = race.options(__doc__, PROFILES, steps=STEPS)
    return race.run(
        __file__,
        CONTESTANTS,
        words,
        trained=lambda name: race.timed(CONTESTANTS[name](words.steps, words.cleanrl))[0],
        told=partial(judged, steps=words.steps),
    )


if __name__ == "__main__":
    sys.exit(main())
