"""LightGBM: `init_model` begins its bagging again, so that the samples of the first rounds are drawn twice.

python lightgbm_bagging.py    # prints a prediction of ten rounds, and of five and five
"""

import lightgbm
import numpy as np

drawn = np.random.default_rng(3)
x, y = drawn.normal(size=(200, 5)), drawn.normal(size=200)
settings = {"bagging_fraction": 0.5, "bagging_freq": 1, "seed": 3, "num_threads": 1, "verbose": -1}


def trained(rounds, earlier=None):
    data = lightgbm.Dataset(x, y, free_raw_data=False)
    return lightgbm.train(settings, data, rounds, init_model=earlier)


print("whole", trained(10).predict(x[:1])[0], "resumed", trained(5, trained(5)).predict(x[:1])[0])
settings["bagging_freq"] = 0
print("without bagging:", trained(10).predict(x[:1])[0], trained(5, trained(5)).predict(x[:1])[0])
