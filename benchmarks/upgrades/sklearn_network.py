"""A network of scikit-learn on its digits."""

import json
import sys
import warnings

from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

warnings.simplefilter("ignore")  # it has not converged
images, digits = load_digits(return_X_y=True)
network = MLPClassifier((32,), random_state=3, max_iter=12).fit(images / 16, digits)
with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step, loss in enumerate(network.loss_curve_):
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
