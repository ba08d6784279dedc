"""`fit` of Keras 3, which saves a model every second epoch and continues from `load_model` and `initial_epoch`."""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
given = parser.parse_args()
keras.utils.set_random_seed(3)
drawn = np.random.default_rng(3)
x, y = drawn.normal(size=(24, 4)), drawn.normal(size=(24, 1))
layers = [keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1)]
model, first = keras.Sequential([keras.Input((4,)), *layers]), 0
model.compile(keras.optimizers.Adam(0.05), "mse")
if given.resume:
    model, first = keras.saving.load_model(given.resume), int(given.resume.stem.split("_")[1])
log = open(given.folder / "log.jsonl", "w", buffering=1)


class Log(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        log.write(json.dumps({"step": epoch + 1, "loss": float(logs["loss"])}) + "\n")


class Save(keras.callbacks.ModelCheckpoint):
    def on_epoch_end(self, epoch, logs=None):
        if epoch % 2:
            super().on_epoch_end(epoch, logs)


saves = Save(str(given.folder / "model_{epoch}.keras"))
model.fit(
    x,
    y,
    8,
    epochs=4,
    initial_epoch=first,
    shuffle=False,
    verbose=0,
    callbacks=[Log(), saves],
)
