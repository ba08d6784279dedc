"""Differences just within and just beyond a tolerance, and a tolerance that was typed too wide."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from reprokit import recipes, runs
from reprokit.features.selftest import mutations
from reprokit.features.selftest.faults.numbers import promised
from reprokit.features.selftest.mutations import not_plantable
from reprokit.features.selftest.planting import Stage, read_object
from reprokit.layout import METRICS, PROVENANCE, RECIPE, SOURCE

_SMALLEST = 1e-3  # of smaller values a tolerance of 1e-9 of them is lost in their own rounding


def within_tolerance(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A difference that the declared tolerance grants."""
    return _off(stage, rng, places, share=rng.uniform(0.05, 0.95))


def beyond_tolerance(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A difference that it does not grant."""
    return _off(stage, rng, places, share=rng.uniform(1.05, 1.9))


def lopsided_tolerance(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """A difference that half of the expected value does not grant, and half of the actual one would."""
    return _off(stage, rng, places, share=rng.uniform(1.05, 1.9), lopsided=True)


def too_wide_tolerance(stage: Stage, rng: Random, places: Sequence[Path]) -> str:
    """The recipe grants ten times what it did when the golden was blessed; a difference in between."""
    return _off(stage, rng, places, share=rng.uniform(1.05, 1.9), typed=10)


def _off(
    stage: Stage,
    rng: Random,
    places: Sequence[Path],
    *,
    share: float,
    typed: float = 1,
    lopsided: bool = False,
) -> str:
    """One value off by a share of the tolerance, which the recipe types so many times too wide."""
    found = mutations.read((places[0] / METRICS).read_bytes())
    choices = [
        (index, name)
        for index, name in mutations.floats(found, but=promised(stage))
        if abs(found[index][name]) > _SMALLEST
    ]
    if not choices:
        raise not_plantable("a difference at a tolerance")
    index, name = rng.choice(choices)
    value, sign = found[index][name], rng.choice((-1, 1))
    size = rng.choice((1e-9, 1e-3, 0.5))
    if lopsided or rng.random() < 0.5:
        rtol, atol = (0.5 if lopsided else size), 0.0
        factor = 1 + (1 if lopsided else sign) * share * rtol  # of the run's value to the golden's
        found[index][name] = value / factor if stage.golden in places else value * factor
    else:
        rtol, atol = 0.0, abs(value) * size
        found[index][name] = value + sign * share * atol
    blessed, declared = {"rtol": rtol, "atol": atol}, {"rtol": rtol * typed, "atol": atol * typed}
    _declare(stage, declared, blessed=blessed)
    stage.write_all(places, METRICS, mutations.write(found))
    return f"{name} in record {index} off by {share:.2f} of rtol {rtol:g}, atol {atol:g}"


def declare_exact(stage: Stage) -> None:
    """Make the recipe's tolerance 0/0, so that every difference from the golden counts."""
    exact = {"rtol": 0.0, "atol": 0.0}
    _declare(stage, exact, blessed=exact)


def _declare(stage: Stage, declared: Mapping[str, float], *, blessed: Mapping[str, float]) -> None:
    record = runs.read(stage.runs[0], verify=False).record
    recipe = recipes.load(str(record.recipe), recipes_dir=stage.runs[0] / SOURCE)
    data = {**recipe.as_data(), "tolerances": {"default": dict(declared), "metrics": {}}}
    for run in stage.runs:
        stage.write(run / SOURCE / recipe.name / RECIPE, json.dumps(data, indent=2).encode())
        stage.seal(run)
    told = read_object(stage.golden / PROVENANCE)
    told["tolerances"] = {"default": dict(blessed), "metrics": {}}
    stage.write_json(stage.golden / PROVENANCE, told)
