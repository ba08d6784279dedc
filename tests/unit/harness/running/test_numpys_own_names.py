"""What `portable` switches off has the names of the numpy that is there; in force is what it reports."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprokit.checks.numerics_in_force import _is_in_force, check
from reprokit.core import numerics
from reprokit.core.environments.cpu_features import VARIABLE, named_by_numpy, names_to_switch_off
from reprokit.core.verdicts.rows import Status
from reprokit.harness.running import start_runs
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.programs import other_seed
from reprokit.harness.running.programs.environment_inside import _by_numpys_own_names
from reprokit.harness.running.start_runs import PreparedRuns
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.recipes import load
from reprokit.request import Request
from reprokit.runtime import settings
from support.command_recipe import RECIPE as COMMAND_RECIPE
from support.fake_backend import REALISATION, FakeBackend

PROJECT = Path(__file__).parents[4]
PORTABLE = numerics.variables("portable", hash_seed=0)
BEFORE = ("AVX2", "AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_ICL")
OLD = "AVX512CD AVX512F AVX512_ICL AVX512_SKX"


def features(in_force, names=BEFORE):
    return {"in_force": list(in_force), "not_in_force": [name for name in names if name not in in_force]}


def held(in_force, value, names=BEFORE):
    facts = {"numpy": {"cpu_features": features(in_force, names)}}
    variables = {**PORTABLE, VARIABLE: value}
    made = settings.verify(profile="portable", facts=facts, at_start=variables)
    found = _by_numpys_own_names(made, facts, variables)
    return next((one["actual"] for one in found["missing"] if one["name"] == VARIABLE), None)


def test_a_numpy_of_the_profile_keeps_the_profiles_value():
    names = ("X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR")
    assert names_to_switch_off(features(("X86_V3",), names)) == PORTABLE[VARIABLE]
    assert named_by_numpy(PORTABLE, PORTABLE[VARIABLE]) == PORTABLE
    assert held(("X86_V3",), PORTABLE[VARIABLE], names) is None


def test_an_older_numpy_gets_its_own_names():
    own = names_to_switch_off(features(BEFORE))
    assert named_by_numpy(PORTABLE, own)[VARIABLE] == own == OLD
    assert named_by_numpy(PORTABLE, "") == PORTABLE
    assert named_by_numpy({VARIABLE: "AVX512F"}, own) == {VARIABLE: "AVX512F"}  # as the recipe says
    assert named_by_numpy({}, own) == {}


def test_runs_that_are_planned_again_have_them_too(tmp_path):
    """Members of a sweep, and the run with another seed: with other kernels they would be no such runs."""
    folder = tmp_path / "recipes" / "train"
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text(COMMAND_RECIPE.replace("none", "cpu") + "numerics: portable\n")
    (tmp_path / "train.py").write_text("")
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    recipe = load("train", recipes_dir=tmp_path / "recipes")
    there = Environment(realisation=REALISATION, backend="local", runs_dir=tmp_path / "runs", root=PROJECT)
    plan = plan_recipe(recipe, seed=3, environment=there, stamp="T")
    prepared = PreparedRuns(plan=plan, environment=there, backend=FakeBackend(print))
    named = start_runs._named(prepared, {"numpy": {"cpu_features": features(BEFORE)}})
    group = SweepGroup(recipe=recipe, request=Request(), seeds=(3, 4), host={}, ready=named)
    member = group.planned_again(4, core=None)
    other = other_seed._with_other_seed(named.plan, recipe, named.environment)
    for one in (named.plan, member, other):
        assert one.specs[0].environment[VARIABLE] == OLD


@pytest.mark.parametrize(
    ("in_force", "value", "left"),
    [
        (("AVX2",), OLD, None),
        (("AVX2", "AVX512F"), OLD, "still in force: AVX512F"),
        (BEFORE, PORTABLE[VARIABLE], f"still in force: {', '.join(BEFORE[1:])}"),
        (("AVX2",), "AVX512F", "AVX512F"),
    ],
)
def test_in_force_is_what_numpy_reports(in_force, value, left):
    assert held(in_force, value) == left


@pytest.mark.parametrize(
    ("reported", "works"),
    [
        (["AVX2"], True),
        (["X86_V3"], True),
        (["X86_V4"], False),
        (["AVX2", "AVX512_SKX"], False),
        (None, False),
    ],
)
def test_the_row_counts_by_what_is_reported_whatever_its_name(reported, works):
    (setting,) = (one for one in numerics.profile("portable").settings if one.name == VARIABLE)
    assert _is_in_force(setting, reported) is works


@pytest.mark.parametrize(
    ("missing", "value", "given", "status"),
    [
        ([{"name": VARIABLE, "actual": "still in force: AVX512F"}], OLD, OLD, Status.FAILED),
        ([{"name": "MKL_CBWR", "actual": "not reported"}], OLD, OLD, Status.PASSED),
        ([{"name": "MKL_CBWR", "actual": "not reported"}], OLD, PORTABLE[VARIABLE], Status.FAILED),
        ([], PORTABLE[VARIABLE], PORTABLE[VARIABLE], Status.SKIPPED),
        (None, None, None, Status.SKIPPED),
    ],
)
def test_the_row_of_a_command_that_nothing_looked_into(missing, value, given, status):
    held = {"profile": "portable", "requested": {VARIABLE: value}, "missing": missing}
    inside = {"numerics": held if value else {}, "numpy": {"cpu_features": {"in_force": ["AVX2"]}}}
    record = SimpleNamespace(environment={VARIABLE: given} if given else {})
    run = SimpleNamespace(environment={"inside": inside}, path="runs/r/1", run=record)
    evidence = SimpleNamespace(recipe={"command": ["x"], "numerics": "portable"}, runs=(run, run))
    assert check(evidence).status is status
