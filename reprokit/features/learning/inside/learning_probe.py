"""Whether a training could learn at all, asked inside the environment that trains.

It answers three questions: what the first updates do, whether Gymnasium's own checker accepts the
environments, and whether the unchanged trainer can memorise one transition. Without environments there are
two: whether it can memorise one batch (``training.overfit_batch``) is the other. Its folder is no run folder.

    $ python -m reprokit.features.learning.inside.learning_probe --run-dir out --config config.yaml \
          --seed 42 -- ppo.py

The one transition: every environment shows the same observation, ends after one step, and pays 1 for one
action and 0 for all others. The trainer trains on it once for the first action and once for the last, so
that an untrained policy cannot pass by luck; its own greedy evaluation says what it learned.
The answers go to ``learning.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.utils.env_checker import check_env

from reprokit.errors import ReprokitError
from reprokit.features.learning.inside.training_observer import (
    NanWatch,
    ObservedEnvironments,
    WatchedTrace,
    environments_made_by,
)
from reprokit.layout import CHECKPOINTS, METRICS, TIMING, TRACE
from reprokit.runtime import config as configuration
from reprokit.runtime import data_files
from reprokit.runtime.checkpoint import CheckpointStore
from reprokit.runtime.first_updates import EnoughUpdates, FirstUpdatesMetrics
from reprokit.runtime.launch import load_trainer
from reprokit.runtime.metrics import MetricsWriter, TimingWriter
from reprokit.runtime.ranks import Ranks
from reprokit.runtime.run import Run
from reprokit.runtime.seeding import Seeding
from reprokit.runtime.trace import Trace

NAME = "learning.json"

_STEPS = 8_192  # to memorise one transition in: two updates of cartpole_baseline
_BATCHES = 1_500  # to memorise one batch in
_RESULTS = ("final/return_mean", "eval/return_mean")


def main(arguments: Sequence[str]) -> int:
    """Ask the three questions, write the answers, and return the exit code."""
    options = _options(arguments)
    try:
        answers = probe(options)
        (options.run_dir / NAME).write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    except ReprokitError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


def probe(options: argparse.Namespace) -> dict[str, Any]:
    """The answers: ``observed``, ``environments`` and ``memorised``; without environments ``overfitted``."""
    module, config = load_trainer(options.trainer), configuration.read(options.config)
    observed, specs = _observe(module, config, options)
    if not specs and "environment" not in config:
        return {"schema": 1, "observed": observed, "overfitted": _overfit(module, config, options)}
    return {
        "schema": 1,
        "observed": observed,
        "environments": [{"id": name, **_checked(spec)} for name, spec in specs.items()],
        "memorised": [_memorise(module, config, options, first=first) for first in (True, False)],
    }


def _observe(
    module: ModuleType, config: Mapping[str, Any], options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first updates of the training as it is, looked at from outside."""
    folder = options.run_dir / "observed"
    folder.mkdir()
    trace = WatchedTrace(folder / TRACE, max_updates=options.updates)
    metrics = FirstUpdatesMetrics(folder / METRICS, trace=trace)
    seen, nan, ended = ObservedEnvironments(), NanWatch(trainer=options.trainer), ""
    with _run(folder, options, metrics=metrics, trace=trace) as run, environments_made_by(seen.watched), nan:
        try:
            module.train(configuration.build(module.Config, config), run)
        except EnoughUpdates:
            pass
        except Exception as error:  # whatever ends the training is an answer too
            ended = f"{type(error).__name__}: {error}"
    observed = {
        "updates": trace.updates,
        "step": trace.last_step,
        "ended": ended,
        "environments": seen.to_json(),
        "gradients": trace.norms,
        "nan": nan.first,
        "spoilt": trace.spoilt,
    }
    return observed, seen.specs


def _checked(spec: Any) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            environment = gymnasium.make(spec, disable_env_checker=True)
            space = environment.action_space
            check_env(environment.unwrapped, skip_render_check=True, skip_close_check=True)
        except Exception as error:  # the checker raises whatever the environment does
            return {"problem": f"{type(error).__name__}: {error}"[:400], "warnings": []}
    num_actions = int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else None
    texts = list(dict.fromkeys(_without_colours(str(one.message)) for one in caught))
    return {"problem": "", "warnings": texts, "num_actions": num_actions}


def _memorise(
    module: ModuleType, config: Mapping[str, Any], options: argparse.Namespace, *, first: bool
) -> dict[str, Any]:
    """Train on one transition, and say what the greedy policy gets of it."""
    folder = options.run_dir / f"memorised-{'first' if first else 'last'}"
    folder.mkdir()
    metrics, trace = MetricsWriter(folder / METRICS), Trace(folder / TRACE)
    asked = {"action": "first" if first else "last", "steps": _STEPS}
    limited = environments_made_by(lambda one: one_transition(one, first=first), evaluation=True)
    with _run(folder, options, metrics=metrics, trace=trace) as run, limited:
        try:
            module.train(configuration.build(module.Config, _shortened(config)), run)
        except Exception as error:  # not every environment can be wrapped so: reported, never judged
            return {**asked, "return": None, "why": f"{type(error).__name__}: {error}"[:400]}
    records = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    found = [record[name] for record in records for name in _RESULTS if name in record]
    return {**asked, "return": found[-1] if found else None, "why": "" if found else "it is never evaluated"}


def _overfit(module: ModuleType, config: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Train on the first batch again and again, and say what is known of it then."""
    changed = {name: dict(one) if isinstance(one, Mapping) else one for name, one in config.items()}
    training = changed.get("training") or {}
    steps = _BATCHES * int(training.get("batch_size", 1))
    changed["training"] = {**training, "overfit_batch": True, "total_timesteps": steps}
    folder, nothing = options.run_dir / "overfitted", {"updates": 0, "loss": None, "accuracy": None}
    folder.mkdir()
    metrics, trace = MetricsWriter(folder / METRICS), Trace(folder / TRACE)
    with _run(folder, options, metrics=metrics, trace=trace) as run:
        try:
            module.train(configuration.build(module.Config, changed), run)
        except Exception as error:  # a trainer may have no such setting: reported, never judged
            return {**nothing, "why": f"{type(error).__name__}: {error}"[:400]}
    records = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    found = [record for record in records if "loss/train" in record]
    if not found:
        return {**nothing, "why": "it logs no loss/train"}
    last, accuracy = found[-1]["loss/train"], found[-1].get("train/accuracy")
    return {"updates": trace.updates, "loss": last, "accuracy": accuracy, "why": ""}


def one_transition(environment: gymnasium.Env[Any, Any], *, first: bool) -> gymnasium.Env[Any, Any]:
    """The environment with one observation, episodes of one step, and one action that pays 1."""
    observation = environment.reset(seed=0)[0]
    space = environment.action_space
    if not isinstance(space, gymnasium.spaces.Discrete):
        raise TypeError(f"one transition is for discrete actions, not for {space}")
    target = int(space.start if first else space.start + space.n - 1)

    class OneTransition(gymnasium.Wrapper[Any, Any, Any, Any]):
        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Any, dict[str, Any]]:
            if seed is not None:
                super().reset(seed=seed, options=options)
            return np.array(observation), {}

        def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
            return np.array(observation), float(int(action) == target), True, False, {}

    return OneTransition(environment)


def _shortened(config: Mapping[str, Any]) -> dict[str, Any]:
    shortened = {name: dict(one) if isinstance(one, Mapping) else one for name, one in config.items()}
    shortened["training"]["total_timesteps"] = _STEPS
    return shortened


def _run(folder: Path, options: argparse.Namespace, *, metrics: MetricsWriter, trace: Trace) -> Run:
    return Run(
        dir=folder,
        device=torch.device(options.device),
        seeding=Seeding(seed=options.seed, rank=0),
        metrics=metrics,
        timing=TimingWriter(folder / TIMING, clock=time.perf_counter),
        trace=trace,
        checkpoints=CheckpointStore(folder / CHECKPOINTS, keep=1),
        ranks=Ranks(trace),
        data=data_files.checked(options.data),
    )


def _without_colours(text: str) -> str:
    return text.replace("\x1b[33m", "").replace("\x1b[0m", "").removeprefix("WARN: ")[:400]


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reprokit.features.learning.inside.learning_probe")
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--updates", type=int, default=2, help="updates to look at")
    parser.add_argument("--data", action="append", nargs=3, default=[])
    parser.add_argument("--keep-checkpoints", type=int, help="accepted and ignored")
    parser.add_argument("trainer", type=Path)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
