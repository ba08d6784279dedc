"""Which two runs are the newest pair of a recipe."""

from __future__ import annotations

import json

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
    with pytest.raises(GoldenError, match="no two finished runs that one `reproduce` made"):
        newest_pair(here.runs_dir, "cartpole_baseline", seed=None)


def _made_on(platform, folders):
    for folder in folders:
        record = json.loads((folder / "environment.json").read_text())
        record["inside"]["device"]["kind"] = platform
        (folder / "environment.json").write_text(json.dumps(record))
    return tuple(sorted(folders))


def test_of_several_platforms_one_is_named_and_the_newest_is_not_guessed(make, here, programs):
    train = programs["training"]
    on_cpu = make.of_recipe(train(), train())
    through_xla = _made_on("xla-cpu", make.of_recipe(train(), train()))
    with pytest.raises(GoldenError, match=r"--platform cpu-x86_64 or --platform xla-cpu\. got none"):
        newest_pair(here.runs_dir, "cartpole_baseline", seed=None)

    def newest(platform):
        return newest_pair(here.runs_dir, "cartpole_baseline", seed=None, platform=platform)

    assert (newest("cpu-x86_64"), newest("xla-cpu")) == (tuple(sorted(on_cpu)), through_xla)
    with pytest.raises(GoldenError, match="reprokit reproduce cartpole_baseline --platform cuda-h200"):
        newest("cuda-h200")


def test_runs_of_another_platform_that_are_no_pair_leave_nothing_to_choose(make, here, programs):
    train = programs["training"]
    pair = make.of_recipe(train(), train())
    _made_on("xla-cpu", make.of_recipe(train()))
    assert newest_pair(here.runs_dir, "cartpole_baseline", seed=None) == tuple(sorted(pair))
