"""The probe next to the real torch and numpy: what it reports is what is in force."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.capture import environment_diff, probe

PORTABLE = {
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "OMP_NUM_THREADS": "1",
}
COMPUTE = """
import hashlib, sys
import torch, numpy
if "--probe" in sys.argv:
    from reprokit.capture import probe
    facts = probe.collect(with_torch=True)
torch.manual_seed(0)
x = torch.randn(300, 300)
y = numpy.random.default_rng(0).random((90, 90))
values = [(x @ x).numpy(), torch.tanh(x).numpy(), torch.softmax(x, 1).numpy(), y @ y, numpy.exp(y)]
print(hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest())
"""

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="kernels of x86-64")


def run(*arguments, **variables):
    kept = {name: value for name, value in os.environ.items() if name not in probe.VARIABLES}
    root = str(Path(probe.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**kept, **variables, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def portable():
    return json.loads(run(probe.__file__, "--torch", **PORTABLE))


def test_settings_that_took_effect_are_reported_by_the_libraries(portable):
    assert portable["torch"]["mkl_cbwr"] == "COMPATIBLE"
    assert portable["torch"]["cpu_capability"] == "AVX2"
    assert portable["torch"]["threads"] == 1
    assert portable["numpy"]["openblas"] == {"core": "Haswell", "threads": 1}


def test_nothing_about_this_torch_is_missing(portable):
    assert portable["missing"] == {}
    assert portable["cpu"]["source"] == "torch"
    assert {"mkl", "onednn", "openmp", "compiler", "git_version"} <= portable["torch"].keys()
    assert portable["torch"]["build"]["USE_CUDA"] == "0"


def test_a_setting_that_was_not_made_is_not_reported():
    plain = json.loads(run(probe.__file__, "--torch"))
    assert plain["torch"]["mkl_cbwr"] == "OFF"
    assert plain["variables"] == {}


def test_every_fact_of_a_real_record_has_a_line_in_the_table(portable):
    record = {"inside": {**portable, "numerics": {"profile": "portable", "version": 1}}}
    unknown = [
        entry["field"]
        for entry in environment_diff.diff(record, {})
        if "not documented" in entry["why"] or entry["why"] == "not seen by the training"
    ]
    assert unknown == []


# One thread: MKL takes fewer on a busy machine, and other numbers of threads give other bits.
@pytest.mark.sample(1)
@pytest.mark.parametrize("variables", [{"OMP_NUM_THREADS": "1"}, PORTABLE], ids=["native", "portable"])
def test_asking_changes_no_result(variables):
    untouched = run("-c", COMPUTE, **variables)
    assert len(untouched) == 64
    assert run("-c", COMPUTE, "--probe", **variables) == untouched
