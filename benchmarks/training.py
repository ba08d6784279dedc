"""How fast PPO trains, against CleanRL's ppo.py and Stable-Baselines3's PPO.

Equal settings (the recipe's) and the same evaluations; equal terms: race.py. Prints a table, then one JSON
object; exits 1 when a bound is missed.

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

import runpy
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import race
from race import OURS, PROJECT

SEED, NUM_ENVS, ROLLOUT, BATCH, EPOCHS, STEPS = 42, 8, 512, 256, 10, 102_400
EVAL_INTERVAL, EVAL_EPISODES, FINAL_EPISODES = 5_000, 10, 100
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
        "ppo.py",
        "--no-cuda",
        "--no-anneal-lr",
        "--no-clip-vloss",
        f"--seed={SEED}",
        f"--num-envs={NUM_ENVS}",
        f"--num-steps={ROLLOUT}",
        f"--total-timesteps={STEPS}",
        f"--num-minibatches={NUM_ENVS * ROLLOUT // BATCH}",
        f"--update-epochs={EPOCHS}",
        "--learning-rate=3e-4",
        "--ent-coef=0.0",
        "--vf-coef=0.5",
        "--max-grad-norm=0.5",
    ]
    yield
    runpy.run_path(str(clone / "cleanrl" / "ppo.py"), run_name="__main__")


CONTESTANTS = {OURS: train_ours, "Stable-Baselines3": train_sb3, "CleanRL": train_cleanrl}


def train_once(name: str, clone: Path | None) -> dict[str, float]:
    """Train in this process: seconds of training and of evaluations apart."""
    evaluations = Evaluations()
    seconds, _ = race.timed(CONTESTANTS[name](evaluations, clone))
    return {
        "train_s": seconds["wall_s"] - evaluations.seconds,
        "train_cpu_s": seconds["cpu_s"] - evaluations.cpu,
        "eval_s": evaluations.seconds,
        "eval_cpu_s": evaluations.cpu,
        "eval_steps": evaluations.steps,
    }


def medians(results: race.Results) -> dict[str, dict[str, float]]:
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


def judged(profile: str, results: race.Results) -> dict[str, object]:
    """Ratios to the faster of the others, and which bounds are missed; printed."""
    found = medians(results)
    others = [value for name, value in found.items() if name != OURS]
    ratio = found[OURS]["steps_per_s"] / max(value["steps_per_s"] for value in others)
    cpu_ratio = min(value["cpu_s"] for value in others) / found[OURS]["cpu_s"]
    missed = [f"{RATIOS[profile]} times the faster one"] if ratio < RATIOS[profile] else []
    if profile == SHIPPED and found[OURS]["steps_per_s"] < STEPS_PER_S:
        missed.append(f"{STEPS_PER_S:,} steps/s")
    print(f"{profile} profile, {STEPS:,} steps, {len(results[OURS])} repeats in turns, one thread")
    for name, value in found.items():
        print(
            f"  {name:20} {value['steps_per_s']:9,.0f} steps/s (best {value['best_steps_per_s']:9,.0f})"
            f" {value['cpu_s']:7.2f} s of CPU (best {value['best_cpu_s']:7.2f})"
        )
    word = f"  MISSED: {', '.join(missed)}" if missed else ""
    print(f"  {ratio:.2f} times the faster one (CPU time: {cpu_ratio:.2f}){word}")
    return {"contestants": found, "ratio": ratio, "cpu_ratio": cpu_ratio, "missed": missed}


def main() -> int:
    words = race.options(__doc__, tuple(RATIOS))
    return race.run(
        __file__, CONTESTANTS, words, trained=partial(train_once, clone=words.cleanrl), told=judged
    )


if __name__ == "__main__":
    sys.exit(main())
