"""A loop of flax and optax that saves every third update with a `CheckpointManager` of orbax."""

import argparse
import json
from pathlib import Path

import flax.linen as nn
import jax
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax.training.train_state import TrainState

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--resume", type=Path)
parser.add_argument("--forget", default="")
parser.add_argument("--stop-after", type=int, default=12)
given = parser.parse_args()
drawn = np.random.default_rng(3)
x, y = drawn.normal(size=(48, 4)).astype("float32"), drawn.normal(size=(48, 1)).astype("float32")


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.Dropout(0.2, deterministic=False)(nn.relu(nn.Dense(8)(x))))


net, key = Net(), jax.random.key(3)
params = net.init({"params": key, "dropout": key}, x)["params"]
state = TrainState.create(
    apply_fn=net.apply, params=params, tx=optax.adam(optax.exponential_decay(0.05, 3, 0.9))
)


@jax.jit
def train(state, key, x, y):
    def loss_of(params):
        out = state.apply_fn({"params": params}, x, rngs={"dropout": jax.random.fold_in(key, state.step)})
        return ((out - y) ** 2).mean()

    loss, slopes = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=slopes), loss


options = ocp.CheckpointManagerOptions(save_interval_steps=3, enable_async_checkpointing=False)
if given.resume:
    with ocp.CheckpointManager(given.resume.resolve()) as earlier:
        state = earlier.restore(earlier.latest_step(), args=ocp.args.StandardRestore(state))
    if given.forget == "optimizer":
        state = state.replace(opt_state=state.tx.init(state.params))
log = open(given.folder / "log.jsonl", "w", buffering=1)
with ocp.CheckpointManager((given.folder / "saved").resolve(), options=options) as manager:
    for step in range(int(state.step) + 1, given.stop_after + 1):
        order = np.random.default_rng([3, (step - 1) // 6]).permutation(48)
        chosen = order[(step - 1) % 6 * 8 :][:8]
        state, loss = train(state, key, x[chosen], y[chosen])
        log.write(json.dumps({"step": step, "loss": float(loss)}) + "\n")
        manager.save(step, args=ocp.args.StandardSave(state))
