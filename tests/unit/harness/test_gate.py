"""The gate: several answers, one exit code, and never a pass by omission."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprokit.harness import GateAnswer, Project, Request, gate_code, verify
from reprokit.harness.running.seeds import seeds_of
from reprokit.session import Session

GRAVEST_FIRST = (130, 143, 1, 3, 2, 4, 0)


def answer(code: int) -> GateAnswer:
    return GateAnswer(recipe="r", exit_code=code)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(GRAVEST_FIRST, repeat=2)))
def test_of_two_answers_the_graver_is_the_exit_code_in_either_order(first, second):
    graver = min(first, second, key=GRAVEST_FIRST.index)
    assert gate_code([answer(first), answer(second)]) == graver


def test_all_codes_at_once_give_the_gravest():
    assert gate_code([answer(code) for code in reversed(GRAVEST_FIRST)]) == 130


def test_nothing_judged_is_never_a_pass():
    assert gate_code([]) == 4


@pytest.mark.parametrize("odd", [5, 99, -1, 137])
def test_a_code_that_nobody_knows_is_a_failure_to_run(odd):
    assert gate_code([answer(odd)]) == 3
    assert gate_code([answer(odd), answer(4)]) != 0


@pytest.mark.parametrize("odd", [5, 99, -1, 137])
def test_a_code_that_nobody_knows_never_hides_behind_a_pass(odd):
    assert gate_code([answer(0), answer(odd)]) == 3


def test_a_recipe_that_cannot_be_read_is_an_answer_of_its_own(tmp_path: Path, told):
    (tmp_path / "recipes" / "broken").mkdir(parents=True)
    (tmp_path / "recipes" / "broken" / "recipe.yaml").write_text("schema: 1\nname: [\n")
    [only] = verify(Request(), session=Session(project=Project.around(tmp_path), progress=told))
    assert (only.recipe, only.report, only.exit_code) == ("broken", None, 2)
    assert "recipe.yaml" in only.error


def test_a_recipe_in_a_folder_of_an_impossible_name_is_not_left_out_of_the_gate(tmp_path: Path, told):
    (tmp_path / "recipes" / "cartpole.v2").mkdir(parents=True)
    (tmp_path / "recipes" / "cartpole.v2" / "recipe.yaml").write_text("schema: 1\nname: cartpole\n")
    [only] = verify(Request(), session=Session(project=Project.around(tmp_path), progress=told))
    assert (only.recipe, only.report, only.exit_code) == ("cartpole.v2", None, 2)
    assert "rename its folder" in only.error


def test_a_recipe_that_was_named_but_is_not_there_is_wrong_usage(tmp_path: Path, told):
    (tmp_path / "recipes").mkdir()
    [only] = verify(
        Request(), session=Session(project=Project.around(tmp_path), progress=told), names=["nowhere"]
    )
    assert only.exit_code == 2


def test_a_project_without_recipes_gives_no_answer(tmp_path: Path, told):
    (tmp_path / "recipes").mkdir()
    assert verify(Request(), session=Session(project=Project.around(tmp_path), progress=told)) == []


def test_every_declared_seed_is_judged_whether_it_has_a_golden_or_not(tmp_path: Path):
    recipe, project = SimpleNamespace(name="several", seeds=(42, 123, 456)), Project.around(tmp_path)
    for seed in (42, 456, 7):  # the golden of 123 was deleted
        (project.golden_dir / "several" / "cpu-x86_64" / f"seed-{seed}").mkdir(parents=True)

    assert tuple(seeds_of(recipe, Request(), project, "cpu-x86_64")) == (42, 123, 456, 7)
    assert tuple(seeds_of(recipe, Request(seed=9), project, "cpu-x86_64")) == (9,)
