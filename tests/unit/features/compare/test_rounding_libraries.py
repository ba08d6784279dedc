"""Twins of programs in JAX, Keras and scikit-learn: real libraries, where they are installed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

from reprokit.errors import CannotJudgeError
from reprokit.features.compare.rounding import evidence
from reprokit.harness.running.programs.hooked_run import HOOK

JAX = """\
import json
import jax, jax.numpy as jnp
{imports}
key = jax.random.PRNGKey(0)
params = {{"a": jax.random.normal(key, (8, 16)) * 0.3, "b": jnp.ones((16, 1)) * 0.1}}
def loss(params, given, kind="mean"):
    hidden = jnp.tanh(given{low} @ params["a"]{low}).astype(jnp.float32)
    return jnp.mean((hidden @ params["b"] - given.sum(1, keepdims=True)) ** 2)
{step}
losses = []
for number in range(20):
    given = jax.random.normal(jax.random.fold_in(key, number), (32, 8))
    params, state, value = step(params, state, given)
    losses.append(float(value))
print(json.dumps(losses))
"""
OPTAX_STEP = """\
adam = optax.adam(1e-2)
state = adam.init(params)
@jax.jit
def step(params, state, given):
    value, gradients = jax.value_and_grad(loss)(params, given)
    updates, state = adam.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, value
"""
PLAIN_STEP = """\
state = ()
@jax.jit
def step(params, state, given):
    gradients, value = jax.grad(lambda *all: (loss(*all),) * 2, has_aux=True)(params, given, "mean")
    return jax.tree.map(lambda one, other: one - 0.1 * other, params, gradients), state, value
"""
KERAS = """\
import json, os
os.environ["KERAS_BACKEND"] = "jax"
import keras, numpy
keras.utils.set_random_seed(0)
given = numpy.random.RandomState(0).randn(64, 8).astype("float32")
layers = [keras.layers.Input((8,)), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)]
model = keras.Sequential(layers)
model.compile(keras.optimizers.Adam(1e-2), "mse")
seen = model.fit(given, given.sum(1), epochs=10, batch_size=32, verbose=0, shuffle=False)
assert abs(float(numpy.asarray(model.optimizer.learning_rate)) - 1e-2) < 1e-9
print(json.dumps(seen.history["loss"]))
"""
SKLEARN = """\
import atexit, json
import numpy
{imports}
losses = []
atexit.register(lambda: print(json.dumps(losses)))
draw = numpy.random.RandomState(0)
given = draw.randn(200, 8)
wanted = given.sum(1) + draw.randn(200)
for _ in range(20):
    model.partial_fit(given, wanted)
    losses.append(float(((model.predict(given) - wanted) ** 2).mean()))
"""
NETWORK = """\
from sklearn.neural_network import MLPRegressor
model = MLPRegressor(hidden_layer_sizes=(8,), random_state=0, solver={solver!r}, learning_rate_init=1e-2)
"""
LINEAR = "from sklearn.linear_model import SGDRegressor\nmodel = SGDRegressor(random_state=0)\n"
#: Name → the package, the program, the largest distance of a twin, and how many updates it makes.
PROGRAMS = {
    "optax": ("optax", JAX.format(imports="import optax", step=OPTAX_STEP, low=""), 1e-5, 20),
    "jax": ("jax", JAX.format(imports="", step=PLAIN_STEP, low=""), 1e-5, 20),
    "keras": ("keras", KERAS, 1e-5, 20),
    "adam": ("sklearn", SKLEARN.format(imports=NETWORK.format(solver="adam")), 1e-12, 20),
    "sgd": ("sklearn", SKLEARN.format(imports=NETWORK.format(solver="sgd")), 1e-12, 20),
    "linear": ("sklearn", SKLEARN.format(imports=LINEAR), 1e-12, 20),
}


def must_be_there(package):
    """Skip without it; nothing is imported, as Keras needs to be told by what it computes."""
    for needed in (package, "jax") if package == "keras" else (package,):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")


def trained(folder, order, program):
    """What a program prints as a twin, and what the hook says that it did."""
    folder.mkdir()
    orders = {"out": str(folder), "key": "00", "level": "look", "variables": ["REPROKIT_TWIN"]}
    (folder / "orders.json").write_text(json.dumps(orders))
    environment = {
        **os.environ,
        "PYTHONPATH": str(HOOK),
        "REPROKIT_HOOK": str(folder / "orders.json"),
        "REPROKIT_TWIN": order,
    }
    words = [sys.executable, "-c", program]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    facts = json.loads(next(folder.glob("trace-*.json")).read_text())["facts"]
    return json.loads(ran.stdout), facts.get("rounding 0")


@pytest.fixture(params=PROGRAMS)
def program(request, tmp_path):
    """Runs one of the programs under an order; its largest distance from the run without one."""
    package, text, most, updates = PROGRAMS[request.param]
    must_be_there(package)
    plain, facts = trained(tmp_path / "plain", "", text)
    assert facts is None

    def run(name, order):
        told, facts = trained(tmp_path / name, order, text)
        return [abs(one - two) / abs(two) for one, two in zip(told, plain, strict=False)], facts

    return run, most, updates


def test_twins_differ_by_rounding_alone_and_from_each_other(program):
    run, most, updates = program
    one, facts = run("one", "updates:seed=1:start=0:rate=1")
    other, _ = run("other", "modules:seed=2:start=0:rate=1")
    assert 0 < max(one) < most
    assert 0 < max(other) < most
    assert one != other
    assert facts["updates"] == updates
    assert facts["rounded"] > 0
    assert facts["epsilon"] == pytest.approx(2.0**-23 if most > 1e-9 else 2.0**-52)


def test_a_twin_that_begins_later_is_equal_until_then(program):
    run, most, updates = program
    off, _ = run("later", f"updates:seed=3:start={updates // 2}:rate=1")
    assert max(off[: len(off) // 2]) == 0
    assert 0 < max(off) < most


def test_the_control_is_far_outside_what_twins_do(program):
    run, most, _ = program
    off, facts = run("control", "control:seed=0:start=0:rate=1.001")
    assert max(off) > 100 * most
    assert facts["rounded"] > 0


@pytest.mark.parametrize("name", ["adam", "linear"])
def test_a_program_that_is_ended_early_closes_its_log(name, tmp_path):
    package, text, _, _ = PROGRAMS[name]
    must_be_there(package)
    told, facts = trained(tmp_path / "short", "updates:seed=1:start=0:rate=1:stop=6", text)
    assert len(told) == 5
    assert (facts["updates"], facts["ended"]) == (6, True)


def test_a_program_that_computes_in_few_digits_has_no_twins(tmp_path):
    must_be_there("jax")
    text = JAX.format(imports="", step=PLAIN_STEP, low=".astype(jnp.bfloat16)")
    _, facts = trained(tmp_path / "low", "updates:seed=1:start=0:rate=1", text)
    assert "bf16" in facts["refused"]
    with pytest.raises(CannotJudgeError, match="computes in bf16 in part"):
        evidence._must_not_be_refused([facts])
