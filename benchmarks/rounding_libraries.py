"""Error rates of ``compare --rounding`` on JAX, Keras and scikit-learn: harmless and real changes.

    python benchmarks/rounding_libraries.py --program keras --seeds 1 2 --out rounding_libraries.jsonl
    python benchmarks/rounding_fits.py --table rounding_libraries.jsonl

Needs jax, optax, keras and scikit-learn. Eight whole twins and the control of each program are made by what
the hook wraps, and each change is judged by the rule from the beginning on.
"""

# ruff: noqa: PLC0415 - a library is imported by the program that needs it
from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from reprokit.features.compare.rounding.rule import FACTOR, Finding, judged
from reprokit.instrumentation.reprokit_hook import rounding_jax, rounding_keras, rounding_sklearn

Metrics = dict[str, list[float]]
_RATE, _TWINS, _UPDATES = 1.001, 8, 60
_RATES = {f"rate_{off:g}": {"rate": 1 + off} for off in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)}
_LINEAR = {name: {"linear": name} for name in ("einsum", "halves", "transposed")}
_JAX_HARMLESS: dict[str, dict[str, Any]] = {
    **_LINEAR,
    "eager": {"eager": True},
    "loss_by_hand": {"loss": "hand"},
    "parts_2": {"parts": (32, 32)},
    "parts_uneven": {"parts": (40, 24)},
    "sample_order": {"order": True},
}
_JAX_REAL: dict[str, dict[str, Any]] = {
    **_RATES,
    "uneven_parts_averaged": {"parts": (40, 24), "wrong": True},
    "sample_twice": {"twice": True},
    "smoothing": {"smoothing": 1e-3},
    "input_moved": {"moved": 1e-4},
}
_ADAM = {"b2": {"b2": 0.998}, "eps_10": {"eps": 1e-7}, "decay": {"decay": 1.01e-2}, "shift": {"shift": 1}}
_SKLEARN_HARMLESS: dict[str, dict[str, Any]] = {
    "columns_first": {"form": "columns"},
    "sparse": {"form": "sparse"},
    "scaled_and_back": {"form": "scaled"},
    "target_scaled_and_back": {"form": "target"},
}
_SKLEARN_REAL: dict[str, dict[str, Any]] = {
    **_RATES,
    "sample_twice": {"twice": True},
    "alpha_1e-3": {"params": {"alpha": 1.001e-4}},
    "input_moved": {"moved": 1e-6},
}
#: Program → its harmless and its real changes.
CHANGES: dict[str, tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]] = {
    "jax_optax": (_JAX_HARMLESS, {**_JAX_REAL, **_ADAM}),
    "jax_plain": (_JAX_HARMLESS, {**_JAX_REAL, "momentum": {"momentum": 0.901}}),
    "keras": (
        {
            "not_compiled": {"compiled": False},
            "loss_by_hand": {"loss": "hand"},
            "einsum": {"linear": "einsum"},
            "validated_in_parts": {"validation_batch_size": 16},
        },
        {
            **_RATES,
            "b2": {"adam": {"beta_2": 0.998}},
            "eps_10": {"adam": {"epsilon": 1e-6}},
            "sample_twice": {"twice": True},
            "last_batch_lost": {"lost": True},
            "input_moved": {"moved": 1e-4},
        },
    ),
    "sklearn_adam": (
        _SKLEARN_HARMLESS,
        {
            **_SKLEARN_REAL,
            "b2": {"params": {"beta_2": 0.998}},
            "eps_10": {"params": {"epsilon": 1e-7}},
            "batch": {"params": {"batch_size": 63}},
        },
    ),
    "sklearn_sgd": (
        _SKLEARN_HARMLESS,
        {
            **_SKLEARN_REAL,
            "momentum": {"params": {"momentum": 0.9001}},
            "no_nesterov": {"params": {"nesterovs_momentum": False}},
        },
    ),
    # Of sparse samples scikit-learn updates the intercept a hundred times more slowly: that is a real change.
    "sklearn_linear": (
        {name: what for name, what in _SKLEARN_HARMLESS.items() if name != "sparse"},
        {**_SKLEARN_REAL, "power": {"params": {"power_t": 0.2501}}, "sparse": {"form": "sparse"}},
    ),
}


class Twin:
    """What a twin, or the control, wraps while one training goes on."""

    def __init__(self, number: int) -> None:
        self.facts: dict[str, Any] = {"updates": 0, "rounded": 0, "epsilon": 0.0}
        self.told = {"seed": number, "start": 0, "rate": None if number else _RATE}
        self.kind = "updates" if number % 2 else "modules"

    def jax(self, stack: ExitStack) -> None:
        """Let ``jax`` and ``optax`` round."""
        import jax

        gradients = rounding_jax.Gradients(self.facts, kind=self.kind, **self.told)
        stack.enter_context(mock.patch.multiple(jax, grad=jax.grad, value_and_grad=jax.value_and_grad))
        gradients.listen(jax)
        if "optax" in rounding_jax.sys.modules:
            import optax

            stack.enter_context(mock.patch.object(optax, "apply_updates", optax.apply_updates))
            gradients.listen_optax(optax)

    def keras(self, natural: Callable[..., Any]) -> Callable[..., Any]:
        """``Model.fit`` that rounds."""
        module = SimpleNamespace(Model=SimpleNamespace(fit=natural))
        rounding_keras.KerasFits(self.facts, stop=0, **self.told).listen(module)
        return module.Model.fit

    def sklearn(self, stack: ExitStack) -> None:
        """Let scikit-learn round."""
        from sklearn.linear_model import _stochastic_gradient as linear
        from sklearn.neural_network import _stochastic_optimizers as networks

        estimators = rounding_sklearn.Estimators(self.facts, stop=0, **self.told)
        base = networks.BaseOptimizer
        stack.enter_context(mock.patch.object(base, "update_params", base.update_params))
        for kind in (linear.BaseSGDClassifier, linear.BaseSGDRegressor):
            stack.enter_context(mock.patch.multiple(kind, fit=kind.fit, partial_fit=kind.partial_fit))
        estimators.listen_networks(networks)
        estimators.listen_linear(linear)


def run(name: str, what: Mapping[str, Any], seed: int, twin: Twin | None = None) -> Metrics:
    """One training."""
    library = name.partition("_")[0]
    with ExitStack() as stack:
        if twin is not None and library != "keras":
            getattr(twin, library)(stack)
        if library == "jax":
            return _jax(dict(what), seed, has_optax=name == "jax_optax")
        if library == "keras":
            return _keras(dict(what), seed, twin)
        return _sklearn(dict(what), seed, kind=name.partition("_")[2])


def _jax(what: dict[str, Any], seed: int, *, has_optax: bool) -> Metrics:
    import jax
    from jax import numpy as jnp

    def linear(given: Any, weight: Any, bias: Any) -> Any:
        how, half = what.get("linear"), given.shape[1] // 2
        if how == "einsum":
            return jnp.einsum("bi,io->bo", given, weight) + bias
        if how == "halves":
            return given[:, :half] @ weight[:half] + given[:, half:] @ weight[half:] + bias
        return (weight.T @ given.T).T + bias if how == "transposed" else given @ weight + bias

    def loss(params: Any, given: Any, wanted: Any) -> Any:
        hidden = jnp.tanh(linear(given, *params[0]))
        hidden = (hidden - hidden.mean(1, keepdims=True)) / jnp.sqrt(hidden.var(1, keepdims=True) + 1e-5)
        logits = linear(hidden, *params[1])
        one_hot = jax.nn.one_hot(wanted, 4) * (1 - what.get("smoothing", 0)) + what.get("smoothing", 0) / 4
        if what.get("loss") == "hand":
            return (jnp.log(jnp.exp(logits).sum(1)) - (logits * one_hot).sum(1)).mean()
        return -(jax.nn.log_softmax(logits) * one_hot).sum(1).mean()

    def gradients_of(params: Any, given: Any, wanted: Any) -> Any:
        sizes = what.get("parts", (len(given),))
        value, total, begin = 0.0, None, 0
        for size in sizes:
            part = slice(begin, begin + size)
            one, gradient = jax.value_and_grad(loss)(params, given[part], wanted[part])
            share = 1 / len(sizes) if what.get("wrong") else size / len(given)
            gradient = jax.tree.map(lambda g, share=share: g * share, gradient)
            total = gradient if total is None else jax.tree.map(jnp.add, total, gradient)
            value, begin = value + one * share, begin + size
        return value, total

    update, state, params = _jax_update(what, seed, has_optax=has_optax)

    def step(params: Any, state: Any, given: Any, wanted: Any) -> Any:
        value, gradients = gradients_of(params, given, wanted)
        norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(gradients)))
        params, state = update(gradients, state, params)
        return params, state, value, norm

    step = step if what.get("eager") else jax.jit(step)
    key = jax.random.PRNGKey(seed)
    teacher = jax.random.normal(jax.random.fold_in(key, 2), (16, 4))
    seen: Metrics = {"loss": [], "norm": [], "evaluation": []}
    test = jax.random.normal(jax.random.fold_in(key, 3), (128, 16))
    for number in range(_UPDATES):
        given = jax.random.normal(jax.random.fold_in(key, 10 + number), (64, 16))
        given = given.at[1].set(given[0]) if what.get("twice") and number == 0 else given
        wanted = (given @ teacher).argmax(1)
        given = given + what.get("moved", 0.0)
        given, wanted = (given[::-1], wanted[::-1]) if what.get("order") else (given, wanted)
        params, state, value, norm = step(params, state, given, wanted)
        seen["loss"].append(float(value))
        seen["norm"].append(float(norm))
        seen["evaluation"].append(float(loss(params, test, (test @ teacher).argmax(1))))
    return seen


def _jax_update(what: dict[str, Any], seed: int, *, has_optax: bool) -> tuple[Any, Any, Any]:
    import jax
    from jax import numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(seed + 100))
    shapes = ((16, 32), (32, 4))
    params = [
        (jax.random.normal(k, s) / s[0] ** 0.5, jnp.zeros(s[1])) for k, s in zip(keys, shapes, strict=True)
    ]
    rate = what.get("rate", 1.0)
    if has_optax:
        import optax

        begin = what.get("shift", 0)
        schedule = optax.linear_schedule(1e-2 * rate, 1e-3 * rate, _UPDATES, begin)
        adam = optax.adamw(
            schedule,
            b2=what.get("b2", 0.999),
            eps=what.get("eps", 1e-8),
            weight_decay=what.get("decay", 1e-2),
        )

        def by_optax(gradients: Any, state: Any, params: Any) -> Any:
            updates, state = adam.update(gradients, state, params)
            return optax.apply_updates(params, updates), state

        return by_optax, adam.init(params), params

    def plain(gradients: Any, state: Any, params: Any) -> Any:
        state = jax.tree.map(lambda s, g: what.get("momentum", 0.9) * s + g, state, gradients)
        return jax.tree.map(lambda p, s: p - 0.05 * rate * s, params, state), state

    return plain, jax.tree.map(jnp.zeros_like, params), params


def _keras(what: dict[str, Any], seed: int, twin: Twin | None) -> Metrics:
    os.environ["KERAS_BACKEND"] = "jax"
    import keras
    import numpy as np

    keras.utils.set_random_seed(seed)
    draw = np.random.RandomState(seed)
    given, other = draw.randn(168, 16).astype("float32"), draw.randn(64, 16).astype("float32")
    wanted, wanted_other = np.sin(given).sum(1), np.sin(other).sum(1)
    if what.get("twice"):
        given[1], wanted[1] = given[0], wanted[0]
    given = given + np.float32(what.get("moved", 0.0))
    if what.get("lost"):
        given, wanted = given[:160], wanted[:160]
    initial = [keras.initializers.GlorotUniform(seed + at) for at in range(2)]
    first = keras.layers.Dense(32, activation="tanh", kernel_initializer=initial[0])
    if what.get("linear"):
        first = keras.layers.EinsumDense(
            "ab,bc->ac", 32, bias_axes="c", activation="tanh", kernel_initializer=initial[0]
        )
    last = keras.layers.Dense(1, kernel_initializer=initial[1])
    model = keras.Sequential([keras.layers.Input((16,)), first, keras.layers.LayerNormalization(), last])

    def by_hand(true: Any, told: Any) -> Any:
        return keras.ops.mean(
            keras.ops.square(keras.ops.reshape(told - keras.ops.reshape(true, (-1, 1)), (-1,)))
        )

    model.compile(
        keras.optimizers.AdamW(1e-2 * what.get("rate", 1.0), **what.get("adam", {})),
        by_hand if what.get("loss") else "mse",
        jit_compile=what.get("compiled", True),
    )
    natural = type(model).fit
    fit = twin.keras(natural) if twin else natural
    seen = fit(
        model,
        given,
        wanted,
        epochs=20,
        batch_size=32,
        verbose=0,
        shuffle=False,
        validation_data=(other, wanted_other),
        validation_batch_size=what.get("validation_batch_size", 64),
    )
    return {name: list(map(float, values)) for name, values in seen.history.items()}


def _sklearn(what: dict[str, Any], seed: int, *, kind: str) -> Metrics:
    import numpy as np
    from scipy import sparse
    from sklearn.linear_model import SGDRegressor
    from sklearn.neural_network import MLPRegressor

    draw = np.random.RandomState(seed)
    given, other = draw.randn(256, 16), draw.randn(128, 16)
    wanted, wanted_other = np.sin(given).sum(1) + draw.randn(256) / 9, np.sin(other).sum(1)
    if what.get("twice"):
        given[1], wanted[1] = given[0], wanted[0]
    given = given + what.get("moved", 0.0)
    form, rate, params = what.get("form"), what.get("rate", 1.0), what.get("params", {})
    wanted = wanted * 3 / 3 if form == "target" else wanted
    given = given * 3 / 3 if form == "scaled" else given
    given = np.asfortranarray(given) if form == "columns" else given
    given = sparse.csr_matrix(given) if form == "sparse" else given
    if kind == "linear":
        model = SGDRegressor(random_state=seed, eta0=1e-2 * rate, **params)
    else:
        named = {"batch_size": 64, "solver": kind, "learning_rate_init": 1e-2 * rate, **params}
        model = MLPRegressor(hidden_layer_sizes=(32,), random_state=seed, **named)
    seen: Metrics = {"loss": [], "evaluation": []}
    for _ in range(20):
        model.partial_fit(given, wanted)
        seen["loss"].append(float(((model.predict(given) - wanted) ** 2).mean()))
        seen["evaluation"].append(float(((model.predict(other) - wanted_other) ** 2).mean()))
    return seen


def measure(name: str, seed: int) -> Iterator[dict[str, Any]]:
    """The answer on each change of one program and seed."""
    a = run(name, {}, seed)
    if run(name, {}, seed) != a:
        raise SystemExit(f"{name} does not repeat")
    twins, made = [], []
    for number in range(1, _TWINS + 1):
        made.append(Twin(number))
        twins.append(run(name, {}, seed, made[-1]))
    epsilon = max(float(one.facts["epsilon"]) for one in made)
    seen = judged(a, run(name, {}, seed, Twin(0)), twins, epsilon=epsilon)
    steady = max(one.steady for one in seen.metrics.values())
    for kind, changes in zip(("harmless", "real"), CHANGES[name], strict=True):
        for change, what in changes.items():
            found = judged(a, run(name, what, seed), twins, epsilon=epsilon)
            answer = str(found.finding)
            if found.finding is Finding.ROUNDING and seen.finding is not Finding.DIFFERENT:
                answer = "unjudged"
            yield {
                "program": name,
                "seed": seed,
                "kind": kind,
                "change": change,
                "answer": answer,
                "ratio": min(found.ratio, 1e300),
                "until": found.until,
                "resolution": 2 * (_RATE - 1) * FACTOR / steady if steady else None,
            }


def main() -> None:
    """Measure; each program in a call of its own, as a library that is there changes what others do."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", required=True, choices=list(CHANGES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--out", type=Path, default=Path("rounding_libraries.jsonl"))
    given = parser.parse_args()
    for seed in given.seeds:
        for line in measure(given.program, seed):
            with given.out.open("a") as stream:
                stream.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
