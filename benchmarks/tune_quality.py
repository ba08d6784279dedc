"""How good a search that repeats is, against plain Optuna at equal numbers of trials.

    python benchmarks/tune_quality.py --studies 20 --output tune_quality.json

Three functions whose minimum is known, and a recipe that was trained with every combination of a grid
(``tune_on_recipe.py``); many studies each. What is compared is the regret: how far the best value of the
first N trials is above the minimum, as median and quartiles over the studies. `plain` is Optuna's sampler
as it comes, one trial after the other; `lag B` is `reprokit tune --ignore-last B`.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import tune_on_recipe

from reprokit.core.statistics.windows import Window
from reprokit.features.tune.definition import Definition, Objective
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.features.tune.trials.samplers import distribution_of
from reprokit.features.tune.trials.suggestions import Suggestions
from reprokit.recipes import Distribution

BUDGETS = (25, 50, 100)
VARIANTS = ("plain", "lag 0", "lag 2", "lag 4", "lag 8", "random")
Function = Callable[[Mapping[str, Any]], float]


def branin(params: Mapping[str, Any]) -> float:
    """Two dimensions, three equal minima of 0.397887."""
    x, y = params["x"], params["y"]
    bent = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bent**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.39788735772973816


_A = np.array(
    [
        [10, 3, 17, 3.5, 1.7, 8],
        [0.05, 10, 17, 0.1, 8, 14],
        [3, 3.5, 1.7, 10, 17, 8],
        [17, 8, 0.05, 10, 0.1, 14],
    ]
)
_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(params: Mapping[str, Any]) -> float:
    """Six dimensions, one minimum of -3.32237 among five others."""
    at = np.array([params[f"x{number}"] for number in range(6)])
    return float(-np.array([1, 1.2, 3, 3.2]) @ np.exp(-(_A * (at - _P) ** 2).sum(axis=1))) + 3.322368011391339


def training(params: Mapping[str, Any]) -> float:
    """A training as it looks to a search: a choice that shifts the best learning rate; minimum 0."""
    best = {"adam": -3.5, "sgd": -1.5, "rmsprop": -3.0}[params["optimizer"]]
    worse = {"adam": 0.0, "sgd": 0.1, "rmsprop": 0.05}[params["optimizer"]]
    rate = (math.log10(params["rate"]) - best) ** 2
    return worse + 0.3 * rate + 0.02 * abs(math.log2(params["width"]) - 7) + 0.1 * params["dropout"] ** 2


def recipe_function() -> Function:
    """How far a real training's mean return is below the best one of the grid."""
    found = tune_on_recipe.results()
    best = max(found.values())
    return lambda params: best - found[tuple(params[name] for name in tune_on_recipe.GRID)]


def _floats(low: float, high: float, *names: str) -> tuple[Distribution, ...]:
    return tuple(Distribution(setting=name, kind="float", low=low, high=high) for name in names)


FUNCTIONS: dict[str, tuple[Function, tuple[Distribution, ...]]] = {
    "Branin": (branin, (*_floats(-5.0, 10.0, "x"), *_floats(0.0, 15.0, "y"))),
    "Hartmann 6": (hartmann, _floats(0.0, 1.0, *(f"x{number}" for number in range(6)))),
    "a training": (
        training,
        (
            Distribution(setting="rate", kind="float", low=1e-5, high=1.0, log=True),
            Distribution(setting="width", kind="int", low=8, high=512, log=True),
            *_floats(0.0, 0.9, "dropout"),
            Distribution(setting="optimizer", kind="categorical", choices=("adam", "sgd", "rmsprop")),
        ),
    ),
    tune_on_recipe.RECIPE: (
        recipe_function(),
        tuple(
            Distribution(setting=name, kind="int", low=0, high=len(values) - 1)
            for name, values in tune_on_recipe.GRID.items()
        ),
    ),
}


def plain(sampler: str, function: Function, space: tuple[Distribution, ...], *, seed: int) -> list[float]:
    """The values of one study of Optuna's own loop."""
    made = {"tpe": optuna.samplers.TPESampler, "cmaes": optuna.samplers.CmaEsSampler}[sampler]
    study = optuna.create_study(sampler=made(seed=seed))
    distributions = {one.setting: distribution_of(one) for one in space}
    values = []
    for _ in range(BUDGETS[-1]):
        trial = study.ask(distributions)
        params = {
            one.setting: one.choices[trial.params[one.setting]] if one.choices else trial.params[one.setting]
            for one in space
        }
        values.append(function(params))
        study.tell(trial, values[-1])
    return values


def repeated(
    sampler: str, function: Function, space: tuple[Distribution, ...], *, seed: int, lag: int
) -> list[float]:
    """The values of one study whose trials follow from seed and number."""
    definition = Definition(
        recipe="function",
        inputs="",
        space=space,
        fixed=(),
        sampler=sampler,
        pruner="none",
        watched=None,
        seed=seed,
        lag=lag,
        objective=Objective(metric="loss", window=Window.parse("last"), direction="minimize"),
        seeds=(0,),
    )
    suggestions, values = Suggestions(definition), []
    for number in range(BUDGETS[-1]):
        params = suggestions.settings_of(number)
        assert params is not None
        values.append(function(params))
        suggestions.result(Trial(number=number, params=params, state=TrialState.COMPLETE, value=values[-1]))
    return values


def study(variant: str, sampler: str, name: str, *, seed: int) -> list[float]:
    function, space = FUNCTIONS[name]
    if variant == "plain":
        return plain(sampler, function, space, seed=seed)
    if variant == "random":
        return repeated("random", function, space, seed=seed, lag=0)
    return repeated(sampler, function, space, seed=seed, lag=int(variant.split()[1]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--samplers", nargs="+", default=["tpe", "cmaes"])
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), choices=list(FUNCTIONS))
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    rows = []
    print("| sampler | function | search | " + " | ".join(f"{n} trials" for n in BUDGETS) + " |")
    print("|---|---|---|" + "---|" * len(BUDGETS))
    for sampler in asked.samplers:
        for name in asked.functions:
            for variant in VARIANTS:
                studies = [study(variant, sampler, name, seed=seed) for seed in range(asked.studies)]
                cells = []
                for budget in BUDGETS:
                    regrets = [min(values[:budget]) for values in studies]
                    low, middle, high = statistics.quantiles(regrets, n=4)
                    cells.append({"trials": budget, "median": middle, "quartiles": [low, high]})
                rows.append({"sampler": sampler, "function": name, "search": variant, "regret": cells})
                shown = " | ".join(
                    f"{one['median']:.3g} ({one['quartiles'][0]:.2g} to {one['quartiles'][1]:.2g})"
                    for one in cells
                )
                print(f"| {sampler} | {name} | {variant} | {shown} |", flush=True)
    if asked.output:
        asked.output.write_text(
            json.dumps({"optuna": optuna.__version__, "studies": asked.studies, "rows": rows}, indent=2)
            + "\n"
        )


if __name__ == "__main__":
    main()
