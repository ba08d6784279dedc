"""The simple sequential model of the Keras documentation, on numbers that are drawn here."""

import sys

import keras
import numpy as np

keras.utils.set_random_seed(int(sys.argv[1]))
x = np.random.default_rng(0).normal(size=(256, 8)).astype("float32")
y = (x[:, :1] * x[:, 1:2] > 0).astype("float32")
model = keras.Sequential(
    [
        keras.Input((8,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
log = keras.callbacks.CSVLogger(f"{sys.argv[2]}/training.csv")
model.fit(x, y, batch_size=32, epochs=3, validation_split=0.2, callbacks=[log], verbose=0)
