"""Bit equality on one platform, a tolerance on another: what counts where, and both tiers reported."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reprokit import golden, recipes
from reprokit.core.provenance import Provenance
from reprokit.core.tolerance import Tolerance
from reprokit.errors import GoldenError
from reprokit.harness.judging.compared_with.reference import tolerances_of

ROOT = Path(__file__).resolve().parents[4]
RULES = {
    "default": {"rtol": 0.0},
    "platforms": {"cuda-h200": {"default": {"rtol": 0.0}, "metrics": {"loss/*": {"rtol": 0.01}}}},
}


@pytest.fixture
def tiered(tmp_path):
    """The real recipe, exact on the CPU and with 1 % on the losses on a GPU."""
    folder = tmp_path / "cartpole_baseline"
    folder.mkdir()
    text = (ROOT / "recipes" / "cartpole_baseline" / "recipe.yaml").read_text()
    text = text.replace(
        "tolerances:\n", "tolerances:\n  platforms: {cuda-h200: {metrics: {loss/*: {rtol: 0.01}}}}\n"
    )
    (folder / "recipe.yaml").write_text(text)
    for name in ("trainers", "parts"):
        shutil.copytree(ROOT / "recipes" / name, tmp_path / name)
    return recipes.load("cartpole_baseline", recipes_dir=tmp_path)


def golden_on(platform, tolerances):
    provenance = Provenance(platform=platform, tolerances=tolerances)
    here = Path("golden")
    return golden.Golden(path=here, provenance=provenance, document={}, metrics=here, trace=here)


def test_each_platform_has_its_own_tier(tiered):
    assert tolerances_of(tiered, golden_on("cpu-x86_64", RULES)).of("loss/policy").exact
    assert tolerances_of(tiered, golden_on("cuda-h200", RULES)).of("loss/policy") == Tolerance(rtol=0.01)
    assert tolerances_of(tiered, golden_on("cuda-h200", RULES)).of("final/return").exact


def test_a_golden_that_was_blessed_exact_stays_exact(tiered):
    blessed_before = {"default": {"rtol": 0.0, "atol": 0.0}}
    assert tolerances_of(tiered, golden_on("cuda-h200", blessed_before)).of("loss/policy").exact


@pytest.mark.parametrize("terms", [{"rtol": -1}, {"rtol": "0.1"}, {"rtol": float("inf")}, {"share": 0.9}])
def test_tolerances_of_a_golden_that_are_none_are_an_error(tiered, terms):
    broken = {"platforms": {"cuda-h200": {"default": terms}}}
    with pytest.raises(GoldenError, match="tolerances cannot be read"):
        tolerances_of(tiered, golden_on("cuda-h200", broken))
