"""Optuna is an extra: without it only a grid is searched, and everything else says how to install it."""

from __future__ import annotations

import subprocess
import sys
from importlib import util

import pytest

from reprokit.errors import CannotRunError
from reprokit.features.tune.trials.suggestions import Suggestions
from support.search import KIND, definition


@pytest.fixture
def without_optuna(monkeypatch):
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: None if name in {"optuna", "cmaes"} else found(name))


@pytest.mark.parametrize("sampler", ["tpe", "cmaes", "random", "one-at-a-time"])
def test_a_search_that_needs_it_says_how_to_install_it(without_optuna, sampler):
    with pytest.raises(CannotRunError, match=r"pip install 'reprokit-verify\[tune\]'"):
        Suggestions(definition(sampler))


def test_a_grid_needs_none(without_optuna):
    asked = definition("grid", space=(KIND,))
    assert Suggestions(asked).settings_of(2) == {"kind": None}
    assert asked.as_data()["optuna"] is None


def test_other_verbs_do_not_load_it():
    line = "import sys, reprokit.harness, reprokit.features.tune.verb; print('optuna' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
