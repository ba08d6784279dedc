"""A regression in Keras whose training goes on from saved weights."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import argparse
import json
from pathlib import Path

import keras
import numpy as np


def network():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, "tanh"), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="mse", jit_compile=False)
    return model


def main(asked):
    rows = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")
    target = rows.prod(1, keepdims=True)
    model, first = network(), 0
    if asked.stopped:
        model.load_weights(asked.stopped / "model.weights.h5")
        first = json.loads((asked.stopped / "epoch.json").read_text())
    with open(asked.out / "metrics.jsonl", "w") as log:
        for epoch in range(first, asked.stop):
            done = model.fit(rows, target, batch_size=16, shuffle=False, verbose=0)
            log.write(json.dumps({"step": epoch, "loss": done.history["loss"][0]}) + "\n")
    model.save_weights(asked.out / "model.weights.h5")
    (asked.out / "epoch.json").write_text(json.dumps(asked.stop))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=6)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
