"""A linear model on random data, in jax."""

import json
import sys

import jax
import jax.numpy as jnp

key = jax.random.key(0)
data = jax.random.normal(key, (64, 4))
target = data @ jnp.arange(4.0)
weights = jax.random.normal(jax.random.fold_in(key, 1), (4,))
slope = jax.grad(lambda one: ((data @ one - target) ** 2).mean())

with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(5):
        weights -= 0.1 * slope(weights)
        loss = float(((data @ weights - target) ** 2).mean())
        log.write(json.dumps({"step": step, "loss": loss}) + "\n")
