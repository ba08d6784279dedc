"""Trainings by four trainers that take less than a second each, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import tarfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from reprokit.runtime import config
from reprokit.runtime.launch import load_trainer
from reprokit.runtime.run import Run

TRAINERS = Path(__file__).resolve().parents[2] / "recipes" / "trainers"
TEXT = "to be or not to be that is the question\n" * 20
CONFIGS: dict[str, dict[str, Any]] = {
    "ppo": {
        "environment": {"name": "CartPole-v1", "num_envs": 2, "max_episode_steps": 20},
        "model": {"hidden_sizes": [8]},
        "training": {"total_timesteps": 128, "rollout_steps": 16, "batch_size": 16, "n_epochs": 2},
        "logging": {"save_interval": 32, "eval_interval": 64, "eval_episodes": 2, "final_eval_episodes": 2},
    },
    "dqn": {
        "environment": {"name": "CartPole-v1", "num_envs": 1, "max_episode_steps": 20},
        "model": {"hidden_sizes": [8]},
        "training": {
            "total_timesteps": 80,
            "batch_size": 8,
            "buffer_size": 64,
            "learning_starts": 10,
            "target_update": 7,
            "replay": "prioritised",
            "max_grad_norm": 1.0,
        },
        "logging": {
            "log_interval": 20,
            "save_interval": 20,
            "eval_interval": 40,
            "eval_episodes": 2,
            "final_eval_episodes": 2,
        },
    },
    "gpt": {
        "texts": {"archive": "texts.tar", "members": "*.txt", "validation": ["b"]},
        "model": {"num_layers": 2, "num_heads": 2, "width": 16, "block_size": 8},
        "training": {
            "total_timesteps": 4,
            "batch_size": 4,
            "lr_warmup_steps": 1,
            "gradient_accumulation_steps": 2,
        },
        "logging": {
            "save_interval": 2,
            "eval_interval": 2,
            "eval_blocks": 6,
            "final_eval_blocks": 6,
            "num_samples": 2,
            "sample_length": 5,
        },
    },
    "classifier": {
        "dataset": {"file": "images.csv", "side": 8, "largest": 255, "folds": 3, "shift": 1},
        "model": {"architecture": "cnn", "channels": [4, 4], "hidden_sizes": [8]},
        "training": {"total_timesteps": 64, "batch_size": 16, "max_grad_norm": 1.0},
        "logging": {"save_interval": 32, "eval_interval": 32},
    },
}
#: The step of a checkpoint in the middle.
HALFWAY = {"ppo": 64, "dqn": 40, "gpt": 2, "classifier": 32}


@contextlib.contextmanager
def settings_put_back() -> Iterator[None]:
    """Inside, one thread; afterwards torch's settings, which hold for the whole process, are as before."""
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    cudnn, products = torch.backends.cudnn, torch.backends.cuda.matmul
    flags = (cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32, products.allow_tf32)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_deterministic_debug_mode(mode)
        cudnn.deterministic, cudnn.benchmark, cudnn.allow_tf32, products.allow_tf32 = flags


def write_data(folder: Path) -> dict[str, Path]:
    """What they learn from: name → file."""
    with tarfile.open(folder / "texts.tar", "w") as tar:
        for name in "ab":
            member = tarfile.TarInfo(f"{name}.txt")
            member.size = len(TEXT)
            tar.addfile(member, io.BytesIO(TEXT.encode()))
    pixels = np.random.default_rng(3).integers(256, size=(60, 64))
    table = np.column_stack([pixels, np.arange(60) % 10])
    np.savetxt(folder / "images.csv", table, fmt="%d", delimiter=",")
    return {name: folder / name for name in ("texts.tar", "images.csv")}


def trained(
    trainer: Path,
    folder: Path,
    data: Mapping[str, Path],
    *,
    device: str = "cpu",
    resume_from: Path | None = None,
    training: Mapping[str, Any] | None = None,
) -> Path:
    """One whole training, in this process; ``training`` has settings of that section. Returns the folder."""
    folder.mkdir()
    module = load_trainer(trainer)
    chosen = CONFIGS[trainer.stem]
    chosen = {**chosen, "training": {**chosen["training"], **(training or {})}}
    with Run.open(
        folder, seed=42, device=device, clock=time.perf_counter, data=data, resume_from=resume_from
    ) as run:
        module.train(config.build(module.Config, chosen), run)
    return folder


def records(folder: Path) -> list[dict[str, float]]:
    """All of ``metrics.jsonl``."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
