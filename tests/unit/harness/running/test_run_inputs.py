"""What a run's numbers stand on: equal for a planned run and its folder, other for any other input."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from reprokit import recipes
from reprokit.core.records import digest_bytes
from reprokit.core.run_record import OutsideCode, RecordedLimits, RecordedProgram
from reprokit.harness.running import run_inputs
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.run_inputs import inputs_of, planned_inputs, whole_run, whole_runs
from reprokit.records import run_json
from support.fake_backend import HOST, REALISATION, ended, training


def planned(recipe, here, *, realisation=REALISATION, host=HOST, backend="local", **more):
    there = Environment(realisation=realisation, backend=backend, runs_dir=here.runs_dir)
    plan = plan_recipe(recipe, seed=7, environment=there, stamp="T", **more)
    return planned_inputs(plan.specs[0], facts=plan.facts, host=host)


def test_a_finished_run_stands_on_what_was_planned(make, recipe, here):
    (folder,) = make.of_recipe(training(), seed=42)
    found = whole_run(folder)
    assert (found.inputs, found.seed) == (planned(recipe, here), 42)
    assert found.inputs.surroundings


def test_a_crashed_run_is_an_attempt_at_the_same(make, recipe, here):
    (folder,) = make.of_recipe(lambda *_: ended(code=1), seed=42)
    assert whole_run(folder).is_attempt_at(planned(recipe, here))


def test_a_killed_run_has_no_environment_record_and_is_an_attempt_but_not_equal(make, recipe, here):
    (folder,) = make.of_recipe(training(), seed=42)
    (folder / "environment.json").unlink()
    wanted = planned(recipe, here)
    assert whole_run(folder).is_attempt_at(wanted)
    assert whole_run(folder).inputs != wanted


def test_the_seed_is_apart(make):
    one, two = (make.of_recipe(training(), seed=seed)[0] for seed in (42, 43))
    inputs = whole_run(one).inputs
    assert inputs == whole_run(two).inputs
    assert inputs.of_seed(42) != inputs.of_seed(43)
    assert inputs.of_seed(42) != inputs.digest


@pytest.mark.parametrize(
    "changed",
    [
        {"realisation": replace(REALISATION, lock_digest=digest_bytes(b"other"))},
        {"realisation": replace(REALISATION, digest="sha256:1")},
        {"realisation": replace(REALISATION, kind="image")},
        {"realisation": replace(REALISATION, variant="other")},
        {"backend": "docker"},
        {"profile_step": 1},
        {"host": {**HOST, "cpu": {**HOST["cpu"], "architecture": "aarch64"}}},
        {"host": {**HOST, "gpus": [{"name": "NVIDIA H100"}]}},
    ],
    ids=["lock", "environment", "kind", "variant", "backend", "command", "architecture", "accelerator"],
)
def test_anything_that_may_change_a_number_makes_other_inputs(recipe, here, changed):
    assert planned(recipe, here, **changed) != planned(recipe, here)


@pytest.mark.parametrize(("profile", "counts"), [("portable", False), ("native", True)])
def test_the_model_of_the_cpu_counts_where_the_profile_says_so(recipe, here, project, profile, counts):
    chosen = recipes.load(recipe.name, recipes_dir=project / "recipes", overrides=(f"numerics={profile}",))
    other = {**HOST, "cpu": {**HOST["cpu"], "model": "Another CPU"}}
    assert (planned(chosen, here, host=other) != planned(chosen, here)) is counts


def test_settings_count_by_what_they_are_not_by_how_they_are_written(recipe, here, project):
    def of(*overrides):
        chosen = recipes.load(recipe.name, recipes_dir=project / "recipes", overrides=overrides)
        return planned(chosen, here)

    assert of("training.gamma=0.5") != of()
    assert of("training.gamma=0.5") == of("training.gamma=0.50") == of("training.gamma=5e-1")
    assert of("training.gamma=0.99") == of(), "the recipe's own value"
    assert of("title=another") == of()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("resumed_from", {"run": "a", "step": 1}),
        ("stopped_by", ["--stop"]),
        ("stop_at", 4096),
        ("varied", {"names": []}),
        ("plain_command", ["python"]),
        ("seed", "42"),
        ("seed", None),
    ],
)
def test_what_was_to_be_no_whole_run_is_left_out(make, key, value):
    (folder,) = make.of_recipe(training(), seed=42)
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, key: value}))
    assert whole_run(folder) is None
    assert list(whole_runs(make.here.runs_dir, recipe=make.recipe.name)) == []


def test_a_program_may_start_a_thread_a_core_and_a_trainer_may_not(make):
    (folder,) = make.of_recipe(training(), seed=42)
    record, environment = run_json.read(folder), json.loads((folder / "environment.json").read_text())
    pinned = record._replace(limits=RecordedLimits(cpus=(1,)))
    assert inputs_of(pinned, environment) == inputs_of(record, environment)
    of_program = [inputs_of(one._replace(program=RecordedProgram()), environment) for one in (record, pinned)]
    assert of_program[0] != of_program[1]
    other_core = record._replace(limits=RecordedLimits(cpus=(0,)), program=RecordedProgram())
    assert inputs_of(other_core, environment) == of_program[1], "which core it is changes nothing"


def test_code_elsewhere_counts_where_no_environment_is_pinned(make):
    (folder,) = make.of_recipe(training(), seed=42)
    pinned, helper = run_json.read(folder), OutsideCode(files={"helper.py": "sha256:1"})
    unpinned = pinned._replace(image=None)

    def recorded(record, code):
        return inputs_of(record._replace(outside_code=code), {}).recorded

    assert recorded(unpinned, helper) != recorded(unpinned, OutsideCode())
    assert recorded(unpinned, OutsideCode()) == recorded(unpinned, None), "as earlier versions recorded it"
    assert recorded(pinned, helper) == recorded(pinned, None), "known only when a pinned program has ended"


def test_seeds_that_ran_with_other_code_elsewhere_are_not_hidden_from_who_looks_for_those_left_out(make):
    (folder,) = make.of_recipe(training(), seed=42)
    record = {**json.loads((folder / "run.json").read_text()), "image": None}

    def wherever(code):
        (folder / "run.json").write_text(json.dumps({**record, "outside_code": code}))
        return run_inputs.wherever_run(folder)

    assert wherever({"files": {"helper.py": "sha256:1"}}) == wherever({})


def test_what_can_change_numbers_is_sought_once_for_runs_that_are_alike_and_anew_where_it_differs(
    make, monkeypatch
):
    (folder,) = make.of_recipe(training(), seed=42)
    environment = json.loads((folder / "environment.json").read_text())
    record = run_json.read(folder)._replace(program=RecordedProgram())
    sought = []
    facts = run_inputs.fingerprint.facts

    def counted(told):
        sought.append(told)
        return facts(told)

    monkeypatch.setattr(run_inputs.fingerprint, "facts", counted)
    environment["inside"]["packages"] = {"numpy": "1.0 of this test"}
    alike = [inputs_of(record, copy.deepcopy(environment)) for _ in range(5)]
    environment["inside"]["packages"] = {"numpy": "2.0 of this test"}
    other = inputs_of(record, environment)
    assert len(sought) == 2
    assert len(set(alike)) == 1
    assert other.surroundings not in {one.surroundings for one in alike}
