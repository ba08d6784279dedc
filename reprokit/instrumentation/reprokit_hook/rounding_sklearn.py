"""A twin of a scikit-learn program: networks round at every update, linear models the weights of the samples.

``MLPClassifier`` and ``MLPRegressor`` (``sgd``, ``adam``) take their steps in Python: gradients before and
parameters after each are rounded. ``SGDClassifier`` and ``SGDRegressor`` take theirs in compiled code: each
sample's weight multiplies its gradient and is rounded, and the parameters after each call. The control
multiplies the learning rate of networks, and the weights of all samples of linear models. Other estimators
are left as they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

OPTIMIZERS = "sklearn.neural_network._stochastic_optimizers"
LINEAR = "sklearn.linear_model._stochastic_gradient"
_RATES = ("learning_rate_init", "learning_rate")


class Estimators:
    """The estimators of one process."""

    def __init__(
        self, facts: dict[str, Any], *, seed: int, start: int, rate: float | None, stop: int
    ) -> None:
        self._facts, self._seed, self._start, self._stop = facts, seed, start, stop
        self._rate = rate  # of the control; None in a twin
        self._draws = 0

    def listen_networks(self, module: Any) -> None:
        """Follow ``update_params`` of the optimizers."""
        natural = module.BaseOptimizer.update_params

        @functools.wraps(natural)
        def update_params(optimizer: Any, params: Any, grads: Any) -> Any:
            works = self._works
            if works and self._rate is not None:
                made = self._faster(optimizer, lambda: natural(optimizer, params, grads))
            else:
                self._round_all(grads if works else ())
                made = natural(optimizer, params, grads)
                self._round_all(params if works else ())
            self._count()
            return made

        module.BaseOptimizer.update_params = update_params

    def listen_linear(self, module: Any) -> None:
        """Follow ``fit`` and ``partial_fit`` of the linear models."""
        for kind in (module.BaseSGDClassifier, module.BaseSGDRegressor):
            for name in ("fit", "partial_fit"):
                setattr(kind, name, self._fit(getattr(kind, name)))

    def _fit(self, natural: Callable[..., Any]) -> Callable[..., Any]:
        form = inspect.signature(natural)

        @functools.wraps(natural)
        def fit(*given: Any, **named: Any) -> Any:
            asked = form.bind(*given, **named)
            works = self._works
            if works:
                values = asked.arguments
                values["sample_weight"] = self._weights(values["X"], values.get("sample_weight"))
            made = natural(*asked.args, **asked.kwargs)
            if works and self._rate is None:
                self._round_all(getattr(made, name) for name in ("coef_", "intercept_"))
            self._count()
            return made

        return fit

    def _weights(self, samples: Any, weights: Any) -> Any:
        import numpy as np

        dtype = np.float32 if getattr(samples, "dtype", None) == np.float32 else np.float64
        size = samples.shape[0] if hasattr(samples, "shape") else len(samples)
        made = np.ones(size, dtype=dtype) if weights is None else np.array(weights, dtype=dtype)
        if self._rate is not None:
            self._facts["rounded"] += 1
            return np.multiply(made, self._rate, dtype=dtype)
        self._round_all([made])
        return made

    def _faster(self, optimizer: Any, step: Callable[[], Any]) -> Any:
        """A step at a higher learning rate; a rate that the step itself works out is left as it is then."""
        before = {name: getattr(optimizer, name) for name in _RATES if hasattr(optimizer, name)}
        for name, value in before.items():
            setattr(optimizer, name, value * self._rate)
        made = step()
        for name, value in before.items():
            if getattr(optimizer, name) == value * self._rate:
                setattr(optimizer, name, value)
        self._facts["rounded"] += len(before)
        return made

    @property
    def _works(self) -> bool:
        return bool(self._facts["updates"] >= self._start)

    def _count(self) -> None:
        self._facts["updates"] += 1
        if self._stop and self._facts["updates"] >= self._stop and not self._facts.get("ended"):
            self._facts["ended"] = True
            raise SystemExit(0)

    def _round_all(self, arrays: Any) -> None:
        import numpy as np

        for one in arrays:
            if not isinstance(one, np.ndarray) or one.dtype.kind != "f" or not one.size:
                continue
            epsilon = float(np.finfo(one.dtype).eps)
            self._draws += 1
            draw = np.random.Generator(np.random.PCG64([self._seed, self._draws]))
            share = draw.uniform(-1, 1, one.shape)
            # In double precision a product with 1 + u ε would itself be rounded to one of three.
            np.add(one, (one * (share * epsilon)).astype(one.dtype), out=one)
            self._facts["rounded"] += 1
            self._facts["epsilon"] = max(self._facts["epsilon"], epsilon)
