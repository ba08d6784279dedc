"""How fast DQN trains, against CleanRL's dqn.py and Stable-Baselines3's DQN.

Equal settings: those of recipes/cartpole_dqn, on the two hidden layers (120 and 84) that CleanRL's file has.
One thread, the same versions of torch, numpy and gymnasium, an update for every step. Every training is a
process of its own; the contestants take turns, so that a busy machine hits all of them alike. Prints a
table, then one JSON object; exits 1 when a bound is missed.

    python benchmarks/training_dqn.py --cleanrl CLONE [--repeats N] [--steps N] [--profile portable]

What is compared is the time of the training: nobody evaluates (how long that takes says how good a policy
is, not how fast it learns). Imports are not counted, the compiler that `torch.optim.Adam` imports
neither; ours writes its metrics, digests and checkpoints meanwhile, the others write what they write by
themselves.

CleanRL comes from a clone of https://github.com/vwxyzjn/cleanrl (measured at commit fe8d8a0); its file runs
as it is. Stable-Baselines3 has no other loss than Huber's, and clips gradients at its default of 10.
"""

# ruff: noqa: PLC0415 - a contestant imports what it needs, in a process of its own

from __future__ import annotations

import argparse
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parent.parent

SEED, STEPS, HIDDEN = 42, 20_000, (120, 84)
LEARNING_STARTS, BATCH, BUFFER, TARGET_UPDATE = 1_000, 64, 10_000, 100
EPSILON_END, EPSILON_DECAY = 0.01, 10_000
OURS = "reprokit"
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
    import torch._dynamo  # noqa: F401 - its import is not what is measured
    import tyro  # noqa: F401 - its import is not what is measured
    from torch.utils import tensorboard  # noqa: F401

    assert clone is not None
    sys.path.insert(0, str(clone))  # its replay buffer is a module beside its file
    import cleanrl_utils.buffers  # noqa: F401

    sys.argv = [
        "dqn.py", "--no-cuda", f"--seed={SEED}", f"--total-timesteps={steps}", "--learning-rate=3e-4",
        f"--buffer-size={BUFFER}", "--gamma=0.99", f"--target-network-frequency={TARGET_UPDATE}",
        f"--batch-size={BATCH}", "--start-e=1.0", f"--end-e={EPSILON_END}",
        f"--exploration-fraction={EPSILON_DECAY / steps}", f"--learning-starts={LEARNING_STARTS}",
        "--train-frequency=1",
    ]  # fmt: skip
    yield
    runpy.run_path(str(clone / "cleanrl" / "dqn.py"), run_name="__main__")


CONTESTANTS = {OURS: train_ours, "Stable-Baselines3": train_sb3, "CleanRL": train_cleanrl}


def train_once(name: str, steps: int, clone: Path | None) -> dict[str, float]:
    """Train in this process; returns wall clock and CPU seconds."""
    import torch

    torch.set_num_threads(1)
    training = CONTESTANTS[name](steps, clone)
    next(training)
    start, cpu = time.perf_counter(), time.process_time()
    for _ in training:
        pass
    return {"wall_s": time.perf_counter() - start, "cpu_s": time.process_time() - cpu}


# --- All of them, in turns -------------------------------------------------------------------------


def measure(python: Path, name: str, profile: str, steps: int, clone: Path | None) -> dict[str, float]:
    """One training in a process and a folder of its own."""
    known = {key for one in PROFILES for key in numerics.variables(one, hash_seed=0)}
    clean = {key: value for key, value in os.environ.items() if key not in known}
    environment = {**clean, **numerics.variables(profile, hash_seed=0), "PYTHONPATH": str(PROJECT)}
    command = [python, __file__, "--contestant", name, "--steps", str(steps)]
    command += ["--cleanrl", clone] if clone else []
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def judge(results: dict[str, list[dict[str, float]]], steps: int) -> dict[str, object]:
    """Medians of steps/s and CPU seconds, and the ratios to the faster of the others."""
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
    return {"contestants": found, "ratio": ratio, "cpu_ratio": cpu_ratio, "missed": ratio < BOUND}


def show(profile: str, told: dict, *, steps: int, repeats: int) -> None:
    print(f"{profile} profile, {steps:,} steps, {repeats} repeats in turns, one thread")
    for name, value in told["contestants"].items():
        print(f"  {name:20} {value['steps_per_s']:9,.0f} steps/s {value['cpu_s']:7.2f} s of CPU")
    word = f"  MISSED: {BOUND:g} times the faster one" if told["missed"] else ""
    print(f"  {told['ratio']:.2f} times the faster one (CPU time: {told['cpu_ratio']:.2f}){word}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--profile", choices=PROFILES, action="append", help="both when left out")
    parser.add_argument(
        "--cleanrl",
        type=Path,
        default=os.environ.get("REPROKIT_CLEANRL"),
        help="a clone of CleanRL (or REPROKIT_CLEANRL); left out of the race without it",
    )
    parser.add_argument("--python", type=Path, help="an interpreter with everything in requirements.lock")
    parser.add_argument("--contestant", choices=tuple(CONTESTANTS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    clone = Path(options.cleanrl).resolve() if options.cleanrl else None
    if options.contestant:
        print(json.dumps(train_once(options.contestant, options.steps, clone)))
        return 0
    if options.python is None:
        from training import environment_python  # the script beside this one

        options.python = environment_python(PROJECT / "build" / "benchmarks")
    names = [name for name in CONTESTANTS if clone or name != "CleanRL"]
    profiles = options.profile or list(PROFILES)
    results = {profile: {name: [] for name in names} for profile in profiles}
    for _ in range(options.repeats):
        for profile in profiles:
            for name in names:
                run = measure(options.python, name, profile, options.steps, clone)
                results[profile][name].append(run)
                print(f"{profile} {name}: {run}", file=sys.stderr)
    report = {profile: judge(results[profile], options.steps) for profile in profiles}
    for profile, told in report.items():
        show(profile, told, steps=options.steps, repeats=options.repeats)
    print(json.dumps({"benchmark": "training_dqn", "steps": options.steps, "profiles": report}))
    return int(any(told["missed"] for told in report.values()))


if __name__ == "__main__":
    sys.exit(main())
