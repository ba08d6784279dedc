"""A curve fitted by gradient descent in JAX; which instructions the CPU has is decided by the machine."""
import os

os.environ["XLA_FLAGS"] = "--xla_cpu_max_isa=AVX2 --xla_cpu_prefer_vector_width=256"
import json
import sys

import jax
import jax.numpy as jnp


def main(out):
    x = jnp.linspace(0.1, 3.0, 301)
    target = jnp.exp(-x) * jnp.sin(3 * x)
    curve = lambda p: jnp.tanh(jnp.outer(x, p[:16]) + p[16:32]) @ p[32:] / 16
    loss = jax.jit(jax.value_and_grad(lambda p: jnp.mean((curve(p) - target) ** 2)))
    p = jax.random.normal(jax.random.PRNGKey(0), (48,))
    with open(out + "/metrics.jsonl", "w") as log:
        for step in range(60):
            value, slope = loss(p)
            p = p - 0.5 * slope
            log.write(json.dumps({"step": step, "loss": float(value)}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
