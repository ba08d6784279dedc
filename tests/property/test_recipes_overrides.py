"""An override does what editing the file would do, and a misspelt key is never taken for another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprokit import recipes
from reprokit.errors import RecipeError

TRAINER = """\
from dataclasses import dataclass
@dataclass(frozen=True)
class Training:
    rate: float = 3e-4
    steps: int = 10
    sizes: tuple[int, ...] = (64, 64)
    name: str = "x"
    limit: float | None = None
@dataclass(frozen=True)
class Config:
    training: Training
"""
RECIPE = {
    "schema": 1,
    "name": "r",
    "title": "t",
    "variant": "cpu",
    "trainer": "t",
    "seeds": [1],
    "platforms": ["cpu-x86_64"],
    "training": {},
}
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "rate": FLOATS,
        "steps": st.integers(-(2**63), 2**63 - 1),
        "sizes": st.lists(st.integers(0, 9), max_size=3),
        "name": st.text("abc =.:#'", max_size=8),
        "limit": st.none() | FLOATS,
    },
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recipes")
    (root / "trainers").mkdir()
    (root / "trainers" / "t.py").write_text(TRAINER)
    (root / "r").mkdir()
    return root


def load(root: Path, data: object, *overrides: str) -> recipes.Recipe:
    (root / "r" / "recipe.yaml").write_text(json.dumps(data))
    return recipes.load("r", recipes_dir=root, overrides=overrides)


@given(SETTINGS)
def test_overriding_is_editing(root, settings):
    edited = load(root, {**RECIPE, "training": settings})
    overridden = load(
        root, RECIPE, *(f"training.{key}={json.dumps(value)}" for key, value in settings.items())
    )
    assert overridden.training_config == edited.training_config
    assert overridden.digest == edited.digest
    assert len(overridden.modified) == len(settings)


@given(SETTINGS)
def test_the_configuration_survives_its_own_yaml(root, settings):
    recipe = load(root, {**RECIPE, "training": settings})
    (root / "config.yaml").write_text(recipe.config_yaml())
    assert repr(recipes.read_mapping(root / "config.yaml")) == repr(recipe.training_config)


@given(SETTINGS)
def test_plain_data_is_a_fixed_point(root, settings):
    recipe = load(root, {**RECIPE, "training": settings})
    again = load(root, recipe.as_data())
    assert (again.as_data(), again.digest) == (recipe.as_data(), recipe.digest)


@given(SETTINGS, SETTINGS)
def test_digests_are_equal_exactly_when_the_configurations_are(root, one, other):
    left, right = (load(root, {**RECIPE, "training": settings}) for settings in (one, other))
    assert (left.digest == right.digest) == (repr(left.training_config) == repr(right.training_config))


@given(st.sampled_from([*RECIPE, "training.rate", "training.steps", "limits.pids"]), st.data())
def test_a_key_with_one_letter_wrong_is_unknown(root, path, data):
    above, _, key = path.rpartition(".")
    position = data.draw(st.integers(0, len(key) - 1))
    wrong = f"{key[:position]}Q{key[position + 1 :]}"
    with pytest.raises(RecipeError) as caught:
        load(root, RECIPE, f"{above}.{wrong}=1" if above else f"{wrong}=1")
    assert f"unknown key {wrong!r}" in str(caught.value)
