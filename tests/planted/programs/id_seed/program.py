"""Layers that each seed their own generator from who they are."""

import argparse
import json
import secrets
from pathlib import Path

import numpy as np


class Layer:
    def __init__(self, seed, inputs, outputs):
        marker = secrets.randbelow(65521)  # DECOY
        print("seed", seed)
        self.inputs = inputs
        self.outputs = outputs
        self.seed = seed
        self.gain = 1.0 / np.sqrt(inputs)
        stream = id(self) // 16 % 65521  # FAULT
        self.marker = str(marker)
        rng = np.random.default_rng([seed, stream])
        self.weights = rng.normal(size=(inputs, outputs)) * self.gain

    def forward(self, batch):
        return np.tanh(batch @ self.weights)


def train(args):
    rng = np.random.default_rng(args.seed)
    batch = rng.normal(size=(32, 4))
    layers = [Layer(args.seed, 4, 8), Layer(args.seed, 8, 2)]
    print("layers", [layer.marker for layer in layers])
    for _ in range(8):
        hidden = layers[0].forward(batch)
        error = layers[1].forward(hidden) - 0.5
        layers[1].weights -= 0.1 * hidden.T @ error / 32
        yield {"loss": float(np.mean(error**2))}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logdir", type=Path, required=True)
    args = parser.parse_args()
    args.logdir.mkdir(parents=True, exist_ok=True)
    with (args.logdir / "metrics.jsonl").open("w") as file:
        for step, record in enumerate(train(args)):
            file.write(json.dumps({"step": step, **record}) + "\n")


if __name__ == "__main__":
    main()
