"""Settings that must precede the interpreter: there or not, in force or not, each by name."""

import copy
import json
import os
import subprocess
import sys

import pytest

from reprokit.core import numerics
from reprokit.errors import UsageError
from reprokit.runtime.settings import variables_at_start, verify

FACTS = {
    "python": {"hash_randomization": False},
    "torch": {"threads": 1, "mkl_cbwr": "COMPATIBLE", "cpu_capability": "AVX2"},
    "numpy": {
        "cpu_features": {"in_force": ["X86_V3"]},
        "openblas": {"core": "Haswell", "threads": 1},
    },
}


def portable(**changed):
    return {**numerics.variables("portable", hash_seed=0), **changed}


def lacks(*, profile="portable", at_start=None, **facts):
    told = copy.deepcopy(FACTS)
    for field, value in facts.items():
        library, _, name = field.partition("__")
        told[library][name] = value
    found = verify(profile=profile, facts=told, at_start=portable() if at_start is None else at_start)
    return {lack["name"]: lack for lack in found["missing"]}


ON_GPU = {
    **FACTS,
    "torch": {
        **FACTS["torch"],
        "flags": {"deterministic_algorithms": True, "deterministic_warn_only": False},
        "cuda_flags": {
            "matmul_allow_tf32": False,
            "cudnn_allow_tf32": False,
            "cudnn_deterministic": True,
            "cudnn_benchmark": False,
        },
    },
}


def on_gpu(facts=ON_GPU, **changed):
    at_start = {**portable(), **numerics.cuda_variables(), **changed}
    return verify(profile="portable", facts=facts, at_start=at_start, device="cuda")


def test_nothing_is_missing_where_all_was_set_and_took_effect():
    found = verify(profile="portable", facts=FACTS, at_start=portable())
    assert found["missing"] == []
    assert found["profile"] == "portable"
    assert found["version"] == numerics.profile("portable").version
    assert found["requested"]["MKL_CBWR"] == "COMPATIBLE"
    assert found["in_force"]["torch.mkl_cbwr"] == "COMPATIBLE"


@pytest.mark.parametrize("name", [setting.name for setting in numerics.profile("portable").settings])
def test_every_variable_that_was_not_there_is_named(name):
    at_start = portable()
    del at_start[name]
    assert lacks(at_start=at_start)[name]["actual"] is None


@pytest.mark.parametrize("name", [setting.name for setting in numerics.profile("portable").settings])
def test_every_variable_with_another_value_is_named(name):
    assert lacks(at_start=portable(**{name: "other"}))[name]["actual"] == "other"


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("torch__mkl_cbwr", "AUTO", "MKL_CBWR"),
        ("torch__mkl_cbwr", None, "MKL_CBWR"),
        ("torch__cpu_capability", "AVX512", "ATEN_CPU_CAPABILITY"),
        ("torch__threads", 2, "OMP_NUM_THREADS"),
        ("numpy__cpu_features", {"in_force": ["X86_V3", "X86_V4"]}, "NPY_DISABLE_CPU_FEATURES"),
        ("numpy__cpu_features", None, "NPY_DISABLE_CPU_FEATURES"),
        ("numpy__openblas", {"core": "SkylakeX", "threads": 1}, "OPENBLAS_CORETYPE"),
        ("numpy__openblas", {"core": "Haswell", "threads": 2}, "OPENBLAS_NUM_THREADS"),
    ],
)
def test_a_setting_without_effect_is_named(field, value, name):
    assert "not in force" in lacks(**{field: value})[name]["why"]


@pytest.mark.parametrize("value", [None, "random", ""])
def test_a_hash_seed_that_is_no_number_is_named(value):
    at_start = portable()
    at_start.pop("PYTHONHASHSEED")
    if value is not None:
        at_start["PYTHONHASHSEED"] = value
    assert "PYTHONHASHSEED" in lacks(at_start=at_start)


def test_a_hash_seed_that_the_interpreter_did_not_read_is_named():
    assert "PYTHONHASHSEED" in lacks(python__hash_randomization=True)


def test_another_hash_seed_than_nought_leaves_randomisation_on():
    at_start = portable(PYTHONHASHSEED="7")
    assert "PYTHONHASHSEED" not in lacks(at_start=at_start, python__hash_randomization=True)


def test_a_caller_that_names_no_profile_is_told_so():
    assert "REPROKIT_NUMERICS" in lacks(profile=None)


def test_an_unknown_profile_is_refused():
    with pytest.raises(UsageError):
        verify(profile="fast", facts=FACTS, at_start={})


def test_a_variable_that_the_program_sets_itself_was_not_there_at_the_start():
    program = (
        "import json, os; os.environ['SET_TOO_LATE'] = '1'\n"
        "from reprokit.runtime.settings import variables_at_start\n"
        "print(json.dumps(variables_at_start()))"
    )
    environment = {**os.environ, "SET_IN_TIME": "yes, = and all"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    at_start = json.loads(done.stdout)
    assert at_start["SET_IN_TIME"] == "yes, = and all"
    assert "SET_TOO_LATE" not in at_start


def test_the_variables_at_the_start_are_those_of_the_kernel():
    assert variables_at_start()["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("profile", ["portable", "native"])
def test_the_real_libraries_confirm_a_profile_that_was_set_in_time(profile):
    pytest.importorskip("torch")
    program = (
        "import json\nfrom reprokit.capture import probe\nfrom reprokit.runtime import settings\n"
        "start = settings.variables_at_start()\n"
        "facts = probe.collect(with_torch=True)\n"
        "print(json.dumps(settings.verify(profile=start['REPROKIT_NUMERICS'], facts=facts, at_start=start)))"
    )
    environment = {**os.environ, **numerics.variables(profile, hash_seed=0)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["missing"] == []


def test_nothing_is_missing_on_a_gpu_where_all_of_it_was_set_and_took_effect():
    found = on_gpu()
    assert found["missing"] == []
    assert found["cuda"]["requested"]["NVIDIA_TF32_OVERRIDE"] == "0"
    assert found["cuda"]["in_force"]["torch.cuda_flags.cudnn_allow_tf32"] is False


def test_nothing_of_a_gpu_is_asked_of_a_cpu():
    found = verify(profile="portable", facts=FACTS, at_start=portable())
    assert "cuda" not in found


@pytest.mark.parametrize("name", [setting.name for setting in numerics.CUDA_SETTINGS])
def test_every_variable_of_a_gpu_with_another_value_is_named(name):
    (lack,) = on_gpu(**{name: "other"})["missing"]
    assert (lack["name"], lack["actual"]) == (name, "other")


@pytest.mark.parametrize("field", list(numerics.CUDA_IN_FORCE))
@pytest.mark.parametrize("report", ["the other value", None])
def test_every_flag_of_a_gpu_that_is_not_in_force_is_named(field, report):
    facts = copy.deepcopy(ON_GPU)
    library, section, name = field.split(".")
    facts[library][section][name] = None if report is None else not facts[library][section][name]
    (lack,) = on_gpu(facts)["missing"]
    assert lack["name"] == field


def test_a_gpu_whose_flags_are_not_recorded_lacks_all_of_them():
    names = {lack["name"] for lack in on_gpu(FACTS)["missing"]}
    assert names == set(numerics.CUDA_IN_FORCE)


def test_no_profile_hides_nothing_of_a_gpu():
    found = verify(profile=None, facts=FACTS, at_start={}, device="cuda")
    assert {"NVIDIA_TF32_OVERRIDE", "REPROKIT_NUMERICS"} <= {lack["name"] for lack in found["missing"]}
