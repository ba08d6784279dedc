"""CPUs that are emulated: what they are called, what they lack, how a run is put under one."""

from __future__ import annotations

import pytest

from reprokit.core.records import Mount, Realisation, RunLimits, RunSpec
from reprokit.errors import CannotRunError, UsageError
from reprokit.features.numerics.nonportable_ops import NonportableOperation, plain_name, sentence
from reprokit.harness.running.varying import emulation


@pytest.fixture
def emulator(tmp_path):
    """A program that answers as told: ``emulator("echo x86 EPYC")``."""

    def make(script):
        path = tmp_path / "qemu-x86_64"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    return make


def test_a_cpu_that_the_emulator_does_not_know_is_a_wrong_command_line_with_the_nearest_names(emulator):
    known = emulator(
        "printf 'Available CPUs:\\nx86 EPYC  (alias)\\nx86 Haswell-v1  Intel\\nx86 Haswell  x\\n'"
    )

    emulation.check_names(["EPYC", "Haswell"], emulator=known)
    with pytest.raises(UsageError, match="did you mean Haswell or Haswell-v1") as wrong:
        emulation.check_names(["EPYC", "Haswel"], emulator=known)
    assert wrong.value.exit_code == 2


def test_what_the_emulator_leaves_out_is_told_with_the_cpu(emulator):
    lacks = (
        """echo "warning: TCG doesn't support requested feature: CPUID.07H:EBX.avx512f [bit 16]" >&2\n"""
        """echo '{"AVX2": true, "FMA3": true, "AVX512F": false}'"""
    )

    cpu = emulation.look_at("Skylake-Server", emulator=emulator(lacks), python="python")

    assert (cpu.avx2, cpu.left_out, cpu.trouble) == (True, ("avx512f",), "")
    assert cpu.told == "Skylake-Server without AVX-512"


@pytest.mark.parametrize("has", ['{"AVX2": false, "FMA3": true}', '{"AVX2": true, "FMA3": false}'])
def test_avx2_counts_only_with_fma(emulator, has):
    cpu = emulation.look_at("Nehalem", emulator=emulator(f"echo '{has}'"), python="python")

    assert not cpu.avx2
    assert cpu.told == "Nehalem"


def test_a_cpu_on_which_python_does_not_start_has_its_reason(emulator):
    dies = emulator("echo 'qemu: uncaught target signal 4 (Illegal instruction) - core dumped' >&2; exit 132")

    cpu = emulation.look_at("core2duo", emulator=dies, python="python")

    assert not cpu.avx2
    assert "numpy itself" in cpu.trouble


def test_without_the_emulator_the_package_to_install_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(emulation.platform, "machine", lambda: "x86_64")

    with pytest.raises(CannotRunError, match="apt-get install qemu-user") as missing:
        emulation.find_emulator()
    assert missing.value.exit_code == 3


def test_on_another_architecture_nothing_is_emulated(monkeypatch):
    monkeypatch.setattr(emulation.platform, "machine", lambda: "aarch64")

    with pytest.raises(CannotRunError, match="aarch64"):
        emulation.find_emulator()


def test_a_run_under_an_emulated_cpu_is_the_same_run_without_a_limit_on_memory():
    spec = RunSpec(
        recipe="r",
        run_id="T-1",
        seed=1,
        device="cpu",
        command=("{python}", "x.py"),
        environment={"MKL_CBWR": "COMPATIBLE"},
        limits=RunLimits(memory_bytes=1 << 30, timeout_s=5.0),
    )

    under = emulation.under(spec, cpu="EPYC", emulator="/usr/bin/qemu-x86_64")

    assert under.command == ("/usr/bin/qemu-x86_64", "-cpu", "EPYC", "{python}", "x.py")
    assert under.environment == spec.environment
    assert (under.limits.memory_bytes, under.limits.timeout_s) == (None, 5.0)


def test_a_container_is_given_the_emulator_as_a_mount():
    image = Realisation(
        variant="cpu",
        kind="image",
        reference="sha256:0",
        digest="sha256:0",
        python="/usr/bin/python3",
        lock_digest="sha256:1",
    )
    spec = RunSpec(
        recipe="r", run_id="T-1", seed=1, device="cpu", command=("{python}", "x.py"), realisation=image
    )

    under = emulation.under(spec, cpu="EPYC", emulator="/usr/bin/qemu-x86_64-static")

    assert under.command == ("{emulator}", "-cpu", "EPYC", "{python}", "x.py")
    assert under.mounts == (Mount(name="emulator", path="/usr/bin/qemu-x86_64-static"),)


def guilty(operation, *, differing=1, recorded=True):
    return NonportableOperation(
        operation=operation,
        calls=2,
        differing=differing,
        elements=16_384,
        recorded=recorded,
        shape=(16_384,),
        dtype="float32",
    )


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        ("aten.sqrt.default", "sqrt"),
        ("aten.sqrt_.default", "sqrt"),
        ("aten._foreach_sqrt.default", "sqrt"),
        ("aten._foreach_sqrt_.default", "sqrt"),
        ("aten._fused_adam_.default", "fused_adam"),
        ("aten._log_softmax.default", "log_softmax"),
        ("numpy.exp", "numpy.exp"),
    ],
)
def test_an_operation_has_the_name_that_people_call_it_by(operation, name):
    assert plain_name(operation) == name


def test_the_sentence_names_the_operation_how_much_differs_and_on_whose_inputs():
    told = sentence([guilty("aten._foreach_sqrt.default", differing=2743)], num_operations=80)

    assert told == (
        "of the 80 operations that it calls, `sqrt` (aten._foreach_sqrt.default) gives different bits in "
        "2,743 of 16,384 results on inputs of this training"
    )


def test_what_differs_on_the_trainings_own_inputs_goes_before_what_only_could():
    could = guilty("aten.exp.default", recorded=False)

    assert "exp" not in sentence([guilty("aten.sqrt.default"), could], num_operations=80)
    assert "on fixed inputs" in sentence([could], num_operations=80)


def test_when_no_operation_differs_by_itself_that_is_said():
    assert "none of the 80 recorded operations" in sentence([], num_operations=80)


def test_the_root_has_a_remedy_of_its_own():
    assert "fused=True" in guilty("aten._foreach_sqrt.default").remedy
    assert "portable-numerics" in guilty("numpy.exp").remedy
