"""One lock, two realisations, and an emulated CPU: one numerics fingerprint."""

import json
import os
import shutil
import subprocess

import pytest

from reprokit.capture import environment_diff, probe
from reprokit.core import fingerprint

SETTINGS = {
    "MKL_CBWR": "COMPATIBLE",
    "ATEN_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4",
    "OMP_NUM_THREADS": "1",
}


def record(facts):
    return {"inside": {**facts, "numerics": {"profile": "portable", "version": 1}}}


def asked(*command, **options):
    return record(json.loads(subprocess.run(command, capture_output=True, check=True, **options).stdout))


@pytest.fixture(scope="module")
def native(cpu_venv):
    return asked(cpu_venv.python, probe.__file__, "--torch", env=SETTINGS)


@pytest.mark.engine
def test_the_container_has_the_fingerprint_of_the_virtual_environment(native, cpu_image):
    settings = [word for pair in SETTINGS.items() for word in ("--env", "=".join(pair))]
    confined = ["--network=none", "--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--user=65532"]
    inside = asked(
        *("docker", "run", "--rm", *confined, f"--volume={probe.__file__}:/probe.py:ro", *settings),
        *(cpu_image.reference, cpu_image.python, "/probe.py", "--torch"),
    )
    differing = [e for e in environment_diff.diff(native, inside) if e["can_change_numbers"] != "no"]
    assert differing == []
    assert fingerprint.same(native, inside)


@pytest.mark.slow
@pytest.mark.skipif(
    os.uname().machine != "x86_64" or not shutil.which("qemu-x86_64"), reason="needs qemu-user on x86-64"
)
def test_an_emulated_cpu_of_the_same_platform_has_it_too(native, cpu_venv):
    emulated = asked(
        "qemu-x86_64", "-cpu", "Haswell", cpu_venv.python, probe.__file__, "--torch", env=SETTINGS
    )
    assert emulated["inside"]["cpu"]["avx512f"] is False
    assert fingerprint.platform_of(emulated) == fingerprint.platform_of(native) == "cpu-x86_64"
    assert fingerprint.same(native, emulated)
