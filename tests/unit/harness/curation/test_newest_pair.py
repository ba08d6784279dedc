"""Which two runs are the newest pair of a recipe."""

from __future__ import annotations

import pytest

from reprokit.errors import GoldenError
from reprokit.harness.curation import newest_pair


def test_a_single_run_made_later_does_not_hide_the_pair(make, here, programs):
    train = programs["training"]
    make.of_recipe(train(), train())
    pair = make.of_recipe(train(), train())
    make.of_recipe(train(), seed=43)
    assert newest_pair(here.runs_dir, "cartpole_baseline", seed=None) == tuple(sorted(pair))


def test_of_one_seed_only_its_runs_count(make, here, programs):
    train = programs["training"]
    pair = make.of_recipe(train(), train())
    make.of_recipe(train(), train(), seed=43)
    assert newest_pair(here.runs_dir, "cartpole_baseline", seed=42) == tuple(sorted(pair))


def test_two_single_runs_are_no_pair(make, here, programs):
    make.of_recipe(programs["training"]())
    make.of_recipe(programs["training"]())
    with pytest.raises(GoldenError, match="no two finished runs of one reproduce"):
        newest_pair(here.runs_dir, "cartpole_baseline", seed=None)
