import json
import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from sklearn.datasets import load_digits

np.random.seed(1337)
images, labels = load_digits(return_X_y=True)
images = (images / 16.0).astype("float32").reshape(-1, 8, 8, 1)
chosen = np.random.permutation(len(images))
train, test = chosen[:1200], chosen[1200:]
model = keras.Sequential(
    [
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Dropout(0.25),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(images[train], labels[train], batch_size=64, epochs=3, verbose=0)
score = model.evaluate(images[test], labels[test], verbose=0)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for epoch, loss in enumerate(history.history["loss"]):
        out.write(json.dumps({"epoch": epoch, "loss": loss}) + "\n")
    out.write(json.dumps({"epoch": 3, "test_loss": score[0], "test_accuracy": score[1]}) + "\n")
