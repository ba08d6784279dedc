"""A twin of a program that fits trees: the weights of the samples are rounded otherwise.

LightGBM and XGBoost take weights in single precision. Each becomes ``w (1 + u ε)``, where there are none
``1 + u ε``, and every gradient is multiplied by its own. Of XGBoost that is done after the first tree, as
weights would move the borders of its histograms before. The control multiplies the learning rate. ``start``
is the number of trainings that are left as they are.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

#: Where each library trains.
MODULES = ("lightgbm.engine", "xgboost.training")
_EPSILON = 2.0**-23
#: What each library calls the data.
_DATA = {"lightgbm": "train_set", "xgboost": "dtrain"}
#: What each library calls the learning rate, and what it takes where no one says.
_RATES = {
    "lightgbm": (("learning_rate", "shrinkage_rate", "eta"), 0.1),
    "xgboost": (("eta", "learning_rate"), 0.3),
}


class Fits:
    """The trainings of one process."""

    def __init__(self, facts: dict[str, Any], *, control: bool, seed: int, start: int, rate: float) -> None:
        self._facts, self._control = facts, control
        self._seed, self._start, self._rate = seed, start, rate

    def listen(self, module: Any) -> None:
        """Follow ``train`` of ``lightgbm.engine`` or ``xgboost.training``, before others import it."""
        library = module.__name__.partition(".")[0]
        module.train = self._train(module.train, library)

    def _train(self, natural: Callable[..., Any], library: str) -> Callable[..., Any]:
        form = inspect.signature(natural)

        @functools.wraps(natural)
        def train(*given: Any, **named: Any) -> Any:
            asked = form.bind(*given, **named)
            works = self._facts["fits"] >= self._start
            self._facts["fits"] += 1
            if works and self._control:
                asked.arguments["params"] = self._faster(dict(asked.arguments["params"]), library)
            elif works and library == "xgboost":
                callbacks = [*(asked.arguments.get("callbacks") or ()), self._after_first_tree(asked)]
                asked.arguments["callbacks"] = callbacks
            elif works:
                self._round(asked.arguments[_DATA[library]])
            return natural(*asked.args, **asked.kwargs)

        return train

    def _faster(self, params: dict[str, Any], library: str) -> dict[str, Any]:
        names, usual = _RATES[library]
        name = next((name for name in names if name in params), names[0])
        self._facts["rounded"] += 1
        return {**params, name: float(params.get(name, usual)) * self._rate}

    def _after_first_tree(self, asked: inspect.BoundArguments) -> Any:
        data, rounds, waits = asked.arguments[_DATA["xgboost"]], self._round, [True]

        class AfterFirstTree(sys.modules["xgboost.callback"].TrainingCallback):  # type: ignore[misc]
            def after_iteration(self, *_: Any) -> bool:
                if waits:
                    waits.clear()
                    rounds(data)
                return False

        return AfterFirstTree()

    def _round(self, data: Any) -> None:
        with suppress(Exception):  # data that the library alone reads; the program must not end by this
            self._weigh(data)

    def _weigh(self, data: Any) -> None:
        import numpy as np

        # LightGBM's `get_weight` raises before the first training where there are none.
        weights = data.weight if hasattr(data, "weight") else data.get_weight()
        if weights is None or not len(weights):
            weights = np.ones(len(data.get_label()), dtype=np.float32)
        draw = np.random.Generator(np.random.PCG64([self._seed, self._facts["fits"]]))
        share = draw.uniform(-1, 1, len(weights))
        exact = np.asarray(weights, dtype=np.float64) * (1 + share * _EPSILON)
        data.set_weight(exact.astype(np.float32))
        self._facts["rounded"] += 1
        self._facts["epsilon"] = max(self._facts["epsilon"], _EPSILON)
