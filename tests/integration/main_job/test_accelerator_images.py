"""The environments of the accelerators on a host that has none: what trains, and what is refused.

Their images are big. `make images-all` makes them; where it has not, these tests say so and are skipped.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reprokit.images.inventory import inventory
from support.study_project import Study

pytestmark = [pytest.mark.slow, pytest.mark.engine, pytest.mark.timeout(1800)]

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def needs_image(*variants: str) -> None:
    there = {row.variant for row in inventory(ROOT, cache_dir=None) if row.kind == "image" and row.current}
    if not there & set(variants):
        pytest.skip(f"needs the image of {' or '.join(variants)}: make images-all")


def needs_none(path: str) -> None:
    if Path(path).exists():
        pytest.skip(f"{path} is there: this is about a host without")


def in_variant(study, variant: str, *, device: str):
    return study.reproduce(
        "--set",
        f"variant={variant}",
        "--set",
        f"device={device}",
        "--set",
        "training.total_timesteps=4096",
        backend="docker",
    )


def test_the_cuda_image_without_a_driver_is_refused_and_nothing_is_judged(study):
    needs_image("cuda")
    needs_none("/proc/driver/nvidia/version")
    answer = in_variant(study, "cuda", device="cuda")
    assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN")
    assert "the recipe asks for a GPU, and this host has none" in answer.out + answer.err
    assert not any(row["status"] == "PASSED" and "repeat" in row["id"] for row in answer.report["checks"])


def test_the_cuda_image_trains_on_the_cpu_alike_twice_and_claims_no_golden(study):
    needs_image("cuda")
    shutil.rmtree(study.root / "golden")
    answer = in_variant(study, "cuda", device="cpu")
    assert (answer.code, answer.report["verdict"]) == (4, "NO_GOLDEN"), answer.err


def test_the_tpu_image_without_a_tpu_is_refused_and_nothing_is_judged(study):
    needs_image("tpu", "tpu-pypi")
    needs_none("/dev/accel0")
    needs_none("/dev/vfio")
    answer = in_variant(study, "tpu", device="tpu")
    assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN")
    assert "this host has none" in answer.out + answer.err


def test_the_golden_of_a_recipe_through_xla_holds_in_the_tpu_image():
    needs_image("tpu", "tpu-pypi")
    answer = Study(root=ROOT).reprokit(
        "reproduce", "mnist_cnn", "--platform", "xla-cpu", "--backend", "docker", "--json", timeout=1800
    )
    assert answer.code == 0, answer.err
    assert (answer.report["verdict"], answer.report["platform"]) == ("REPRODUCED", "xla-cpu")
