"""A recipe that asks for a GPU is refused where there is none, or another, before anything is made for it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.errors import DeviceError
from reprokit.harness import Project, Request
from reprokit.harness.running.clock import Phases
from reprokit.harness.running.gpus import must_be_there
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import run_recipe
from support.recorded_progress import RecordedProgress

ROOT = Path(__file__).resolve().parents[4]
NONE = {"gpus": [], "missing": {"gpus": "no driver"}, "cpu": {"architecture": "x86_64", "features": ["avx2"]}}
H200 = {**NONE, "gpus": [{"name": "NVIDIA H200"}, {"name": "NVIDIA H200"}]}
OF_A_GPU = ["cartpole_baseline", "cartpole_dqn", "char_gpt", "mnist_cnn"]


def recipe(platform: str = "cuda-h200", name: str = "cartpole_baseline") -> recipes.Recipe:
    asked = (f"platform={platform}",) if platform else ()
    return recipes.load(name, recipes_dir=ROOT / "recipes", overrides=asked)


@pytest.mark.parametrize("name", OF_A_GPU)
@pytest.mark.parametrize("platform", ["cuda-h200", "cuda-h100-80gb-hbm3"])
def test_a_recipe_with_settings_for_a_gpu_trains_there_as_it_stands(name, platform):
    there = recipe(platform, name)
    assert (there.variant, there.device, there.numerics) == ("cuda", "cuda", "native")
    assert there.modified == ()


def test_a_host_with_that_gpu_is_taken():
    must_be_there(recipe(), H200)


def test_a_recipe_for_a_cpu_asks_for_nothing():
    must_be_there(recipe(""), NONE)


def test_a_host_without_a_gpu_is_refused_with_what_nvml_said():
    with pytest.raises(DeviceError) as refused:
        must_be_there(recipe(), NONE)
    assert "this host has none" in str(refused.value)
    assert "no driver" in str(refused.value)
    assert refused.value.outcome == "start_refused"


@pytest.mark.parametrize("name", ["NVIDIA H100 80GB HBM3", "NVIDIA H200 NVL", "NVIDIA A100-SXM4-80GB"])
def test_another_gpu_is_refused_with_its_own_platform(name):
    with pytest.raises(DeviceError, match="expected cuda-h200") as refused:
        must_be_there(recipe(), {**NONE, "gpus": [{"name": name}]})
    assert "--platform cuda-" in (refused.value.fix or "")


def test_nothing_is_built_and_nothing_judged_for_a_gpu_that_is_not_there(tmp_path, monkeypatch):
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setattr("reprokit.capture.capture_host", lambda _root: NONE)
    project, progress = Project.around(tmp_path), RecordedProgress()
    (folder,) = run_recipe(recipe(), Request(), WholeRun(), project=project, phases=Phases(progress))
    record = json.loads((folder / "run.json").read_text())
    assert (record["outcome"], record["platform_asked"]) == ("start_refused", "cuda-h200")
    assert not (folder / "COMPLETE").exists()
    assert progress.notes == [], "no environment was made"
