"""What an accelerator needs of its host: the driver, the nodes, and what the container is opened for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.core.records import Outcome, Realisation, RunLimits, RunSpec
from reprokit.execution import accelerators
from reprokit.execution.local import _plan

GIB = 1 << 30


def spec(device: str, **needs) -> RunSpec:
    realisation = Realisation(
        variant="cuda",
        kind="image",
        reference="sha256:1",
        digest="sha256:1",
        python="python",
        lock_digest="sha256:2",
        device_needs=needs,
    )
    return RunSpec(recipe="r", run_id="1", seed=1, device=device, command=("true",), realisation=realisation)


def driver(tmp_path: Path, version: str) -> Path:
    path = tmp_path / "version"
    path.write_text(f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build\n")
    return path


@pytest.mark.parametrize("version", ["580.65.06", "580.105.8", "595.1"])
def test_a_driver_that_is_new_enough_hinders_nothing(tmp_path, version):
    assert (
        accelerators.missing(spec("cuda", minimum_driver="580.65.06"), driver=driver(tmp_path, version))
        is None
    )


@pytest.mark.parametrize("version", ["580.65.05", "535.183.1", "99.1"])
def test_an_older_driver_is_named_with_the_oldest_that_works(tmp_path, version):
    why = accelerators.missing(spec("cuda", minimum_driver="580.65.06"), driver=driver(tmp_path, version))
    assert why.outcome is Outcome.START_REFUSED
    assert "at least 580.65.06" in why.message


def test_no_driver_at_all_is_said_before_anything_starts(tmp_path):
    why = accelerators.missing(spec("cuda", minimum_driver="580.65.06"), driver=tmp_path / "none")
    assert why.message.endswith("this host has none")
    assert "device: cpu" in why.remedy


def test_the_same_variant_on_a_cpu_needs_no_driver_and_opens_nothing(tmp_path):
    on_cpu = spec("cpu", minimum_driver="580.65.06", devices=["/dev/none"], host_network=True)
    assert accelerators.missing(on_cpu, driver=tmp_path / "none") is None
    assert accelerators.opened(on_cpu) == {}


def test_a_host_without_the_device_nodes_is_told_so():
    assert (
        "/dev/no-such-accelerator"
        in accelerators.missing(spec("tpu", devices=["/dev/no-such-accelerator"])).message
    )


def test_what_a_device_needs_is_opened_and_found_again_in_the_engines_account():
    settings = accelerators.opened(
        spec("tpu", devices=["/dev/null", "/dev/none"], host_network=True, shared_memory_gib=16)
    )
    assert [one["PathOnHost"] for one in settings["Devices"]] == ["/dev/null"]
    assert accelerators.relaxations(settings, shared_memory_bytes=GIB) == [
        "device /dev/null",
        "host network",
        "16 GiB of shared memory",
    ]


def test_a_hardened_container_has_no_relaxation():
    assert accelerators.relaxations({"NetworkMode": "none", "ShmSize": GIB}, shared_memory_bytes=GIB) == []


def test_a_program_for_a_tpu_is_told_which_device_it_has_before_it_starts():
    assert accelerators.variables("tpu", platform="") == {"PJRT_DEVICE": "TPU"}
    assert accelerators.variables("tpu", platform="xla-cpu") == {"PJRT_DEVICE": "CPU", "NPROC": "1"}
    assert accelerators.variables("cpu", platform="") == {}


def test_a_trainer_on_a_gpu_starts_with_the_settings_that_fix_its_bits():
    given = accelerators.variables("cuda", platform="cuda-h200")
    assert given["NVIDIA_TF32_OVERRIDE"] == "0"
    assert given["NCCL_ALGO"] == "Ring"


def test_an_unmodified_program_keeps_the_precision_that_it_asks_for():
    assert accelerators.variables("cuda", platform="", pins_kernels=False) == {}


def test_a_cpu_that_stands_for_a_tpu_needs_nothing_and_gets_nothing():
    needs = {"devices": ["/dev/there-is-none"], "host_network": True, "shared_memory_gib": 16}
    there, here = spec("tpu", **needs), replace(spec("tpu", **needs), environment={"PJRT_DEVICE": "CPU"})
    assert accelerators.missing(there) is not None
    assert accelerators.missing(here) is None
    assert accelerators.opened(here) == {}


def test_a_program_of_this_host_sees_the_gpu_of_its_run_and_no_other(tmp_path):
    run = replace(spec("cuda"), limits=RunLimits(gpus=(3,)))
    assert _plan(run, output=tmp_path)["environment"]["CUDA_VISIBLE_DEVICES"] == "3"
    assert "CUDA_VISIBLE_DEVICES" not in _plan(spec("cuda"), output=tmp_path)["environment"]


def test_a_variation_of_the_gpu_is_not_taken_back(tmp_path):
    varied = replace(spec("cuda"), limits=RunLimits(gpus=(0,)), environment={"CUDA_VISIBLE_DEVICES": "1,0"})
    assert _plan(varied, output=tmp_path)["environment"]["CUDA_VISIBLE_DEVICES"] == "1,0"
    assert accelerators.gpus_of(varied) is None
