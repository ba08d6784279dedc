"""Trains a small network on two spirals with numpy alone."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

UPDATES = 1000


def spirals(generator: np.random.Generator) -> tuple[Any, Any]:
    """Two spirals of 200 points each, and which of them each point is of."""
    turn = np.sqrt(generator.uniform(size=(2, 200))) * 3 * np.pi
    side = np.array([[1.0], [-1.0]])
    points = np.stack([side * turn * np.cos(turn), side * turn * np.sin(turn)], axis=-1)
    return points.reshape(-1, 2) / 10, np.repeat([0.0, 1.0], 200)


def moved(points: Any) -> Any:
    """The points, each moved a little."""
    noise = np.random.default_rng().normal(scale=0.02, size=points.shape)
    return points + noise


def train(seed: int, log: Path) -> None:
    """Gradient descent on a network with one hidden layer; every 20th update is logged."""
    generator = np.random.default_rng(seed)
    points, labels = spirals(generator)
    first, second = generator.normal(size=(2, 64)), generator.normal(scale=0.1, size=64)
    with log.open("w") as stream:
        for step in range(1, UPDATES + 1):
            inputs = moved(points)
            hidden = np.tanh(inputs @ first)
            chance = 1 / (1 + np.exp(-hidden @ second))
            error = (chance - labels) / len(labels)
            slope = np.outer(error, second) * (1 - hidden**2)
            second -= 2.0 * error @ hidden
            first -= 2.0 * inputs.T @ slope
            if step % 20 == 0:
                likely = np.where(labels == 1, chance, 1 - chance)
                loss = float(-np.mean(np.log(likely + 1e-12)))
                stream.write(json.dumps({"step": step, "loss": loss}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    arguments = parser.parse_args()
    train(arguments.seed, arguments.logdir / "metrics.jsonl")
