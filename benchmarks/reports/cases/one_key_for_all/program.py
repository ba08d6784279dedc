"""A small network on noisy data; each step draws its rotation and noise."""
import json
import sys

import jax
import jax.numpy as jnp


def batch(key, rows):
    key, subkey = jax.random.split(jax.random.PRNGKey(0))
    noise = jax.random.normal(key, rows.shape)
    return rows + 0.3 * noise


def main(out):
    key = jax.random.PRNGKey(0)
    rows = jnp.linspace(-1, 1, 20).reshape(10, 2)
    weights = jnp.zeros(2)
    loss = jax.value_and_grad(lambda w, x: jnp.mean((x @ w - x.sum(1)) ** 2))
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(10):
            key, subkey = jax.random.split(key)
            noisy = batch(subkey, rows)
            value, slope = loss(weights, noisy)
            weights = weights - 0.1 * slope
            log.write(json.dumps({"step": step, "loss": float(value), "first": float(noisy[0, 0])}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
