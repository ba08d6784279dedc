"""A twin of a Keras program: parameters are rounded after every batch of ``Model.fit``, whatever computes.

The control multiplies the learning rate of each batch. Parameters are rounded by the ``ε`` of the precision
that the policy computes in.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

_EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


class KerasFits:
    """The trainings of one process."""

    def __init__(
        self, facts: dict[str, Any], *, seed: int, start: int, rate: float | None, stop: int
    ) -> None:
        self._facts, self._seed, self._start, self._stop = facts, seed, start, stop
        self._rate = rate  # of the control; None in a twin

    def listen(self, module: Any) -> None:
        """Follow ``Model.fit`` of ``keras.src.models.model``."""
        module.Model.fit = self._fit(module.Model.fit)

    def _fit(self, natural: Callable[..., Any]) -> Callable[..., Any]:
        form = inspect.signature(natural)

        @functools.wraps(natural)
        def fit(*given: Any, **named: Any) -> Any:
            asked = form.bind(*given, **named)
            callbacks = asked.arguments.get("callbacks") or ()
            if isinstance(callbacks, (list, tuple)):  # not a list of Keras's own, which is made already
                asked.arguments["callbacks"] = [*callbacks, self._callback()]
            return natural(*asked.args, **asked.kwargs)

        return fit

    def _callback(self) -> Any:
        import keras  # type: ignore[import-not-found, unused-ignore]

        mine = self

        class Rounds(keras.callbacks.Callback):  # type: ignore[misc, name-defined, unused-ignore]
            natural_rate: Any = None

            def on_train_begin(self, *_: Any, **__: Any) -> None:
                if not mine._start and mine._rate is None and not mine._facts["updates"]:
                    mine._round(self.model)

            def on_train_batch_begin(self, *_: Any, **__: Any) -> None:
                if mine._rate is not None and mine._works:
                    self.natural_rate = mine._faster(self.model)

            def on_train_batch_end(self, *_: Any, **__: Any) -> None:
                if self.natural_rate is not None:
                    _in_step(self.model).optimizer.learning_rate = self.natural_rate
                    self.natural_rate = None
                if mine._works and mine._rate is None:
                    mine._round(self.model)
                mine._count()

        return Rounds()

    @property
    def _works(self) -> bool:
        return bool(self._facts["updates"] >= self._start)

    def _count(self) -> None:
        self._facts["updates"] += 1
        if self._stop and self._facts["updates"] >= self._stop and not self._facts.get("ended"):
            self._facts["ended"] = True
            raise SystemExit(0)

    def _faster(self, model: Any) -> Any:
        """The learning rate as it was; None for a compiled schedule, which cannot be changed here."""
        import numpy as np

        optimizer = _in_step(model).optimizer
        try:
            natural = float(np.asarray(optimizer.learning_rate))
            optimizer.learning_rate = natural * (self._rate or 1)
        except (TypeError, ValueError):
            return None
        self._facts["rounded"] += 1
        return natural

    def _round(self, model: Any) -> None:
        import keras
        import numpy as np

        computes = getattr(model.dtype_policy, "compute_dtype", None) or "float32"
        for at, one in enumerate(_in_step(model).trainable_variables):
            value = keras.ops.convert_to_numpy(one.value)
            names = {str(one.dtype), computes}
            epsilon = max((_EPSILONS[name] for name in names if name in _EPSILONS), default=0.0)
            if not epsilon or not value.size:
                continue
            draw = np.random.Generator(np.random.PCG64([self._seed, self._facts["updates"], at]))
            exact = value.astype(np.float64) * (1 + draw.uniform(-1, 1, value.shape) * epsilon)
            one.assign(exact.astype(value.dtype))
            self._facts["rounded"] += 1
            self._facts["epsilon"] = max(self._facts["epsilon"], epsilon)


def _in_step(model: Any) -> Any:
    """The model, with its variables as they are: those that JAX trains lie elsewhere meanwhile."""
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()
    return model
