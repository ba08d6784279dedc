"""A small network in JAX, whose weights are drawn from a key."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

drawn = np.random.RandomState(3)
x = drawn.normal(size=(64, 8)).astype("float32")
y = x.sum(1, keepdims=True)
first, second = jax.random.split(jax.random.key(3))
weights = [0.3 * jax.random.normal(first, (8, 16)), 0.3 * jax.random.normal(second, (16, 1))]


def loss_of(weights):
    return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)


with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(12):
        loss, slopes = jax.value_and_grad(loss_of)(weights)
        weights = [one - 0.05 * slope for one, slope in zip(weights, slopes)]
        log.write(json.dumps({"step": step, "loss": float(loss)}) + "\n")
