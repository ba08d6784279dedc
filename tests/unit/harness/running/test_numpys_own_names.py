"""What `portable` switches off has the names of the numpy that is there; in force is what it reports."""

from types import SimpleNamespace

import pytest

from reprokit.checks.numerics_in_force import _is_in_force, check
from reprokit.core import numerics
from reprokit.core.environments.cpu_features import VARIABLE, names_to_switch_off
from reprokit.core.records import RunSpec
from reprokit.core.verdicts.rows import Status
from reprokit.harness.running.programs.environment_inside import _by_numpys_own_names, named_by_numpy
from reprokit.runtime import settings

PORTABLE = numerics.variables("portable", hash_seed=0)
BEFORE = ("AVX2", "AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_ICL")
OLD = "AVX512CD AVX512F AVX512_ICL AVX512_SKX"


def spec():
    return RunSpec(recipe="r", run_id="1", seed=0, device="cpu", command=("x",), environment=dict(PORTABLE))


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
    inside = {"numpy": {"cpu_features": features(("X86_V3",), names)}}
    assert named_by_numpy(spec(), inside) == spec()
    assert held(("X86_V3",), PORTABLE[VARIABLE], names) is None


def test_an_older_numpy_gets_its_own_names():
    inside = {"numpy": {"cpu_features": features(BEFORE)}}
    assert named_by_numpy(spec(), inside).environment[VARIABLE] == OLD
    assert named_by_numpy(spec(), {}) == spec()


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
    ("missing", "value", "status"),
    [
        ([{"name": VARIABLE, "actual": "still in force: AVX512F"}], OLD, Status.FAILED),
        ([{"name": "MKL_CBWR", "actual": "not reported"}], OLD, Status.PASSED),
        ([], PORTABLE[VARIABLE], Status.SKIPPED),
        (None, None, Status.SKIPPED),
    ],
)
def test_the_row_of_a_command_that_nothing_looked_into(missing, value, status):
    held = {"profile": "portable", "requested": {VARIABLE: value}, "missing": missing}
    inside = {"numerics": held if value else {}, "numpy": {"cpu_features": {"in_force": ["AVX2"]}}}
    run = SimpleNamespace(environment={"inside": inside}, path="runs/r/1")
    evidence = SimpleNamespace(recipe={"command": ["x"], "numerics": "portable"}, runs=(run, run))
    assert check(evidence).status is status
