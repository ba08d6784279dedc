"""How fast PPO trains, against CleanRL's ppo.py and Stable-Baselines3's PPO.

Equal settings (the recipe's), one thread, the same versions of torch, numpy and gymnasium, the same
evaluations. Every training is a process of its own; the contestants take turns, so that a busy
machine hits all of them alike. Prints a table, then one JSON object; exits 1 when a bound is missed.

    python benchmarks/training.py --cleanrl CLONE [--repeats N] [--profile portable]

What is compared is the time of a whole training with all its evaluations. How long an evaluation is
depends on how good the policy is, so everybody's evaluations are scaled to the number of steps that
ours took. Imports are not counted, the compiler that `torch.optim.Adam` imports neither; ours writes
its metrics, digests and checkpoints meanwhile, the others write what they write by themselves.

CleanRL comes from a clone of https://github.com/vwxyzjn/cleanrl (measured at commit fe8d8a0); its
file runs as it is, and the evaluations hook into the last thing that it logs in an iteration.
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
from pathlib import Path

from reprokit.core import numerics

PROJECT = Path(__file__).resolve().parent.parent
LOCK = PROJECT / "benchmarks" / "requirements.lock"
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"  # where pip cannot reach it, it warns and goes on

SEED, NUM_ENVS, ROLLOUT, BATCH, EPOCHS, STEPS = 42, 8, 512, 256, 10, 102_400
EVAL_INTERVAL, EVAL_EPISODES, FINAL_EPISODES = 5_000, 10, 100
OURS = "reprokit"
#: profile → how many times the faster of the others; and steps/s under the shipped profile
RATIOS = {"native": 2.0, "portable": 1.5}
SHIPPED, STEPS_PER_S = "portable", 15_000


# --- One training, in a process of its own ---------------------------------------------------------


class Evaluations:
    """Times evaluations, and counts their steps."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0
        self.steps, self.done = 0, 0

    def due(self, step: int) -> bool:
        return step // EVAL_INTERVAL > self.done

    def run(self, play, step: int) -> None:
        """``play(num_episodes)`` returns the lengths of greedy episodes."""
        start, cpu = time.perf_counter(), time.process_time()
        self.done = step // EVAL_INTERVAL
        self.steps += int(sum(play(EVAL_EPISODES)))
        if step >= STEPS:
            self.steps += int(sum(play(FINAL_EPISODES)))
        self.seconds += time.perf_counter() - start
        self.cpu += time.process_time() - cpu


def train_ours(evaluations: Evaluations, _: Path | None) -> None:
    from reprokit.runtime import config
    from reprokit.runtime.launch import load_trainer
    from reprokit.runtime.run import Run

    trainer = load_trainer(PROJECT / "recipes" / "trainers" / "ppo.py")
    evaluate = trainer.evaluate

    def timed(*args, **kwargs):
        start, cpu = time.perf_counter(), time.process_time()
        returns = evaluate(*args, **kwargs)
        evaluations.steps += int(returns.sum())  # CartPole pays 1 a step
        evaluations.seconds += time.perf_counter() - start
        evaluations.cpu += time.process_time() - cpu
        return returns

    trainer.evaluate = timed
    settings = config.build(
        trainer.Config,
        {
            "environment": {"name": "CartPole-v1", "num_envs": NUM_ENVS},
            "training": {"total_timesteps": STEPS},
        },
    )
    with Run.open(Path.cwd(), seed=SEED, device="cpu", clock=time.perf_counter) as run:
        yield
        trainer.train(settings, run)


def train_sb3(evaluations: Evaluations, _: Path | None) -> None:
    import torch._dynamo  # noqa: F401 - its import is not what is measured
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    class Evaluate(BaseCallback):
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:  # after the update of the rollout before
            if evaluations.due(self.num_timesteps):
                self.evaluate()

        def _on_training_end(self) -> None:
            self.evaluate()

        def evaluate(self) -> None:
            evaluations.run(self.play, self.num_timesteps)

        def play(self, num_episodes: int):
            envs = make_vec_env("CartPole-v1", EVAL_EPISODES, seed=SEED + 1)
            result = evaluate_policy(self.model, envs, num_episodes, return_episode_rewards=True)
            return result[1]

    yield
    PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", NUM_ENVS, seed=SEED),
        n_steps=ROLLOUT,
        batch_size=BATCH,
        n_epochs=EPOCHS,
        learning_rate=3e-4,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.0,
        vf_coef=0.5,
        max_grad_norm=0.5,
        policy_kwargs={"net_arch": [64, 64]},
        seed=SEED,
        device="cpu",
    ).learn(STEPS, callback=Evaluate())


def train_cleanrl(evaluations: Evaluations, clone: Path | None) -> None:
    import gymnasium
    import numpy as np
    import torch._dynamo
    import tyro  # noqa: F401 - its import is not what is measured
    from torch.utils import tensorboard

    def play(agent):
        def episodes(num_episodes: int):
            envs = gymnasium.make_vec("CartPole-v1", num_envs=num_episodes, vectorization_mode="sync")
            observations, _ = envs.reset(seed=SEED + 1)
            lengths, playing = np.zeros(num_episodes), np.ones(num_episodes, dtype=bool)
            while playing.any():
                with torch.no_grad():
                    actions = agent.actor(torch.Tensor(observations)).argmax(1).numpy()
                observations, _, terminated, truncated, _ = envs.step(actions)
                lengths += playing
                playing &= ~(terminated | truncated)
            return lengths

        return episodes

    class Writer(tensorboard.SummaryWriter):
        def add_scalar(self, tag, value, step, *args, **kwargs):
            super().add_scalar(tag, value, step, *args, **kwargs)
            if tag == "charts/SPS" and evaluations.due(step):
                evaluations.run(play(sys._getframe(1).f_globals["agent"]), step)

    tensorboard.SummaryWriter = Writer
    sys.argv = [
        "ppo.py", "--no-cuda", "--no-anneal-lr", "--no-clip-vloss", f"--seed={SEED}",
        f"--num-envs={NUM_ENVS}", f"--num-steps={ROLLOUT}", f"--total-timesteps={STEPS}",
        f"--num-minibatches={NUM_ENVS * ROLLOUT // BATCH}", f"--update-epochs={EPOCHS}",
        "--learning-rate=3e-4", "--ent-coef=0.0", "--vf-coef=0.5", "--max-grad-norm=0.5",
    ]  # fmt: skip
    yield
    runpy.run_path(str(clone / "cleanrl" / "ppo.py"), run_name="__main__")


CONTESTANTS = {OURS: train_ours, "Stable-Baselines3": train_sb3, "CleanRL": train_cleanrl}


def train_once(name: str, clone: Path | None) -> dict[str, float]:
    """Train in this process; what was printed meanwhile goes to stderr."""
    import torch

    torch.set_num_threads(1)
    evaluations = Evaluations()
    training = CONTESTANTS[name](evaluations, clone)
    next(training)
    start, cpu = time.perf_counter(), time.process_time()
    for _ in training:
        pass
    return {
        "train_s": time.perf_counter() - start - evaluations.seconds,
        "train_cpu_s": time.process_time() - cpu - evaluations.cpu,
        "eval_s": evaluations.seconds,
        "eval_cpu_s": evaluations.cpu,
        "eval_steps": evaluations.steps,
    }


# --- All of them, in turns -------------------------------------------------------------------------


def environment_python(folder: Path) -> Path:
    """The interpreter of an environment made from benchmarks/requirements.lock; made when it is not there."""
    python, mark = folder / "bin" / "python", folder / "made-from"
    if mark.is_file() and mark.read_bytes() == LOCK.read_bytes():
        return python
    print(f"making {folder} from {LOCK.name} (minutes, once)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:",
         "--retries", "0", "--extra-index-url", TORCH_INDEX, "--requirement", LOCK],
        check=True,
    )  # fmt: skip
    mark.write_bytes(LOCK.read_bytes())
    return python


def measure(python: Path, name: str, profile: str, clone: Path | None) -> dict[str, float]:
    clean = {
        key: value for key, value in os.environ.items() if key not in numerics.variables(SHIPPED, hash_seed=0)
    }
    environment = {**clean, **numerics.variables(profile, hash_seed=0), "PYTHONPATH": str(PROJECT)}
    command = [python, __file__, "--contestant", name, *(["--cleanrl", clone] if clone else [])]
    with tempfile.TemporaryDirectory(prefix="reprokit-bench-") as folder:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, check=False
        )
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def medians(results: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Contestant → steps/s and CPU seconds of a whole training, evaluations scaled to our number of steps."""
    work = statistics.median(run["eval_steps"] for run in results[OURS])
    found = {}
    for name, runs in results.items():
        wall = [run["train_s"] + run["eval_s"] * work / run["eval_steps"] for run in runs]
        cpu = [run["train_cpu_s"] + run["eval_cpu_s"] * work / run["eval_steps"] for run in runs]
        found[name] = {
            "steps_per_s": STEPS / statistics.median(wall),
            "best_steps_per_s": STEPS / min(wall),
            "cpu_s": statistics.median(cpu),
            "best_cpu_s": min(cpu),
        }
    return found


def judge(profile: str, found: dict[str, dict[str, float]]) -> dict[str, object]:
    """Ratios to the faster of the others, and which bounds are missed."""
    others = [value for name, value in found.items() if name != OURS]
    ratio = found[OURS]["steps_per_s"] / max(value["steps_per_s"] for value in others)
    cpu_ratio = min(value["cpu_s"] for value in others) / found[OURS]["cpu_s"]
    missed = [f"{RATIOS[profile]} times the faster one"] if ratio < RATIOS[profile] else []
    if profile == SHIPPED and found[OURS]["steps_per_s"] < STEPS_PER_S:
        missed.append(f"{STEPS_PER_S:,} steps/s")
    return {"ratio": ratio, "cpu_ratio": cpu_ratio, "missed": missed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", choices=tuple(RATIOS), action="append", help="both when left out")
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
        print(json.dumps(train_once(options.contestant, clone)))
        return 0
    python = options.python or environment_python(PROJECT / "build" / "benchmarks")
    names = [name for name in CONTESTANTS if clone or name != "CleanRL"]
    report, missed = {}, False
    profiles = options.profile or list(RATIOS)
    results = {profile: {name: [] for name in names} for profile in profiles}
    for _ in range(options.repeats):
        for profile in profiles:
            for name in names:
                results[profile][name].append(measure(python, name, profile, clone))
                print(f"{profile} {name}: {results[profile][name][-1]}", file=sys.stderr)
    for profile in profiles:
        found = medians(results[profile])
        verdict = judge(profile, found)
        report[profile] = {"contestants": found, **verdict}
        missed |= bool(verdict["missed"])
        print(f"{profile} profile, {STEPS:,} steps, {options.repeats} repeats in turns, one thread")
        for name, value in found.items():
            print(
                f"  {name:20} {value['steps_per_s']:9,.0f} steps/s (best {value['best_steps_per_s']:9,.0f})"
                f" {value['cpu_s']:7.2f} s of CPU (best {value['best_cpu_s']:7.2f})"
            )
        word = f"  MISSED: {', '.join(verdict['missed'])}" if verdict["missed"] else ""
        print(f"  {verdict['ratio']:.2f} times the faster one (CPU time: {verdict['cpu_ratio']:.2f}){word}")
    print(json.dumps({"benchmark": "training", "profiles": report}))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
