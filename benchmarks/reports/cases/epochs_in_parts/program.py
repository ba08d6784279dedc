"""A small autoencoder, trained in one go or in parts with saving and loading between."""
import os

os.environ["KERAS_BACKEND"] = "torch"
import argparse
import json
from pathlib import Path

import keras
import numpy as np


class Losses(keras.callbacks.Callback):
    def __init__(self, log):
        super().__init__()
        self.log = log

    def on_epoch_end(self, epoch, logs=None):
        self.log.write(json.dumps({"step": epoch, "loss": logs["loss"]}) + "\n")


def network():
    layers = [keras.layers.Input((6,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(6, "sigmoid")]
    model = keras.Sequential(layers)
    model.compile(optimizer="adadelta", loss="mse", jit_compile=False)
    return model


def main(asked):
    keras.utils.set_random_seed(3)
    rows = np.random.default_rng(0).uniform(size=(48, 6)).astype("float32")
    first = 0
    if asked.stopped:
        model = keras.models.load_model(asked.stopped / "model.keras")
        first = json.loads((asked.stopped / "epoch.json").read_text())
    else:
        model = network()
    with open(asked.out / "metrics.jsonl", "w") as log:
        model.fit(
            rows, rows, batch_size=8, shuffle=True, verbose=0,
            initial_epoch=first, epochs=asked.stop, callbacks=[Losses(log)],
        )
    model.save(asked.out / "model.keras")
    (asked.out / "epoch.json").write_text(json.dumps(asked.stop))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--stop", type=int, default=6)
    parser.add_argument("--from", dest="stopped", type=Path)
    main(parser.parse_args())
