"""A search over three settings, as tests ask for it."""

from __future__ import annotations

from reprokit.core.statistics.windows import Window
from reprokit.features.tune.definition import LAG, Definition, Objective
from reprokit.recipes import Distribution

RATE = Distribution(setting="rate", kind="float", low=1e-5, high=1e-1, log=True)
WIDTH = Distribution(setting="width", kind="int", low=8, high=64)
KIND = Distribution(setting="kind", kind="categorical", choices=("a", [1, 2], None))


def definition(sampler="tpe", **changed) -> Definition:
    whole = {
        "recipe": "train",
        "inputs": "sha256:0",
        "space": (RATE, WIDTH, KIND),
        "fixed": (),
        "sampler": sampler,
        "pruner": "none",
        "watched": None,
        "seed": 7,
        "lag": LAG,
        "objective": Objective(metric="loss", window=Window.parse("last"), direction="minimize"),
        "seeds": (0,),
        "start": {"rate": 3e-4, "width": 16, "kind": "a"},
    }
    return Definition(**{**whole, **changed})
