"""Portable numerics promise the same bits on every CPU: settings that cannot keep it are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.errors import RecipeError

RECIPES = Path(__file__).resolve().parents[3] / "recipes"
TRAINED = ("cartpole_baseline", "cartpole_dqn", "char_gpt", "mnist_cnn")


def loaded(name: str, *overrides: str):
    return recipes.load(name, recipes_dir=RECIPES, overrides=overrides)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", TRAINED)
def test_lower_precision_needs_native_numerics(name, precision):
    setting = f"training.precision={precision}"
    with pytest.raises(RecipeError, match=r"which kernels compute it follows from the CPU.*numerics: native"):
        loaded(name, setting)
    assert f'precision: "{precision}"' in loaded(name, setting, "numerics=native").config_yaml()


@pytest.mark.parametrize("name", ["cartpole_baseline", "char_gpt", "mnist_cnn"])
def test_a_compiled_model_needs_native_numerics(name):
    with pytest.raises(RecipeError, match="the code that is generated follows from the CPU"):
        loaded(name, "training.compile=default")
    assert 'compile: "default"' in loaded(name, "training.compile=default", "numerics=native").config_yaml()


def test_a_platform_with_native_numerics_computes_in_lower_precision():
    there = loaded("mnist_cnn", "platform=cuda-h200", "training.precision=bfloat16")
    assert there.numerics == "native"
