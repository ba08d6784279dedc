"""Keras 3: a model that is loaded has neither the order of samples of `fit` nor its dropout's generators.

python keras_generators.py    # prints a sum of the weights after four epochs, and after two and two
"""

import os
import tempfile

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
import numpy as np

drawn = np.random.default_rng(3)
x, y = drawn.normal(size=(24, 4)), drawn.normal(size=(24, 1))


def total(model):
    return sum(float(np.sum(one)) for one in model.get_weights())


def new(dropout):
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dropout(dropout), keras.layers.Dense(1)]
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


for shuffle, dropout in ((True, 0.0), (False, 0.5), (False, 0.0)):
    with tempfile.TemporaryDirectory() as folder:
        whole, half = new(dropout), new(dropout)
        keras.utils.set_random_seed(3)
        whole.fit(x, y, 8, epochs=4, shuffle=shuffle, verbose=0)
        keras.utils.set_random_seed(3)
        half.fit(x, y, 8, epochs=2, shuffle=shuffle, verbose=0)
        half.save(f"{folder}/model.keras")
        keras.utils.set_random_seed(3)
        resumed = keras.saving.load_model(f"{folder}/model.keras")
        resumed.fit(x, y, 8, epochs=4, initial_epoch=2, shuffle=shuffle, verbose=0)
    print(f"shuffle={shuffle}, dropout={dropout}: whole", total(whole), "resumed", total(resumed))
