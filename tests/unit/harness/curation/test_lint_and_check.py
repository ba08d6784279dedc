"""What `golden lint` and `recipe check` find of a project."""

from __future__ import annotations

import json

import pytest

from reprokit.harness.curation import check_recipes, lint_goldens
from reprokit.project import Project
from tests.support.command_recipe import RECIPE


@pytest.fixture
def blessed(repository):
    repository.promote(repository.reproduce())
    (golden,) = repository.root.glob("golden/train/*/seed-3")
    return golden


def found(repository):
    return {(one.rule, one.what) for one in lint_goldens(Project.around(repository.root), min_runs=2)}


def test_a_folder_that_is_no_golden_by_its_name_is_found(repository, blessed):
    assert found(repository) == set()
    blessed.rename(blessed.with_name("seed_3"))
    assert found(repository) == {
        ("orphan", "'seed_3' does not have the name of a golden, so nothing is compared with it")
    }


def test_a_metric_that_responds_but_is_not_there_is_found(repository, blessed):
    file = blessed / "provenance.json"
    provenance = json.loads(file.read_text())
    provenance["responds"] = {"metrics": ["invented"], "seed": 4, "third_seed": 5}
    file.write_text(json.dumps(provenance))
    assert {(rule, what.rpartition(": ")[2]) for rule, what in found(repository)} == {
        ("responds", "invented"),
        ("provenance", "it is not what its own digest says"),
    }


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("volatile: [{metric: '*', because: no reason}]", "'*' matches every metric"),
        ("tolerances: {default: {rtol: 1.0e+300}}", "within an rtol of 1e+300, every metric may be 0"),
        ("tolerances: {metrics: {loss: {rtol: 2}}}", "within an rtol of 2, loss may be 0"),
    ],
)
def test_what_leaves_nothing_to_compare_is_noted(repository, line, what):
    repository.write(recipes__train__recipe_yaml=f"{RECIPE}{line}\n")
    rows = check_recipes(Project.around(repository.root))["train"]
    assert any(what in one.what and one.level == "note" for one in rows), rows


def test_a_pattern_of_files_that_fits_none_is_noted(repository):
    repository.write(recipes__train__recipe_yaml=f"{RECIPE}sees: ['*.py', conf/*.json]\n")
    rows = check_recipes(Project.around(repository.root))["train"]
    (idle,) = [one.what for one in rows if "fits no file that git tracks" in one.what]
    assert "'conf/*.json'" in idle


def test_a_narrow_tolerance_is_not_noted(repository):
    repository.write(recipes__train__recipe_yaml=f"{RECIPE}tolerances: {{default: {{rtol: 0.01}}}}\n")
    rows = check_recipes(Project.around(repository.root))["train"]
    assert not [one for one in rows if "rtol" in one.what]
