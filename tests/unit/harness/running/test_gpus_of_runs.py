"""Which GPUs runs are made on: refused where there is none, another or none free, before anything is made.

``nvidia-smi`` is a stand-in here (``support.stand_in_nvidia_smi``).
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.core.records import Realisation
from reprokit.errors import DeviceError
from reprokit.execution.local import LocalBackend
from reprokit.harness import Project, Request
from reprokit.harness.judging.gather import gather
from reprokit.harness.running.environments.environment import Environment
from reprokit.harness.running.environments.gpus import choose_gpus, must_be_there, must_have_driver
from reprokit.harness.running.plan import plan_recipe
from reprokit.harness.running.run_kinds import WholeRun
from reprokit.harness.running.start_runs import PreparedRuns, run_recipe
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.session import Session
from support.recorded_progress import RecordedProgress
from support.stand_in_nvidia_smi import app_line, gpu_line, install

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
    (folder,) = run_recipe(
        recipe(), Request(), WholeRun(), session=Session(project=project, progress=progress)
    )
    record = json.loads((folder / "run.json").read_text())
    assert (record["outcome"], record["platform_asked"]) == ("start_refused", "cuda-h200")
    assert not (folder / "COMPLETE").exists()
    assert progress.notes == [], "no environment was made"
    assert gather(recipe(), [folder]).platform == "cuda-h200"


MIXED = {
    **NONE,
    "gpus": [{"name": "NVIDIA A100-SXM4-80GB"}, {"name": "NVIDIA H200"}, {"name": "NVIDIA H200"}],
}


@pytest.fixture
def smi(tmp_path, monkeypatch):
    """Puts the stand-in for nvidia-smi before whatever this machine has."""

    def there(*, gpus: int = 2, busy: tuple[int, ...] = (), **state):
        lines = "".join(gpu_line(n, **state) for n in range(gpus))
        apps = "".join(app_line(n, 4700 + n) for n in busy)
        folder = install(tmp_path / "bin", gpus=lines, apps=apps)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return there


def chosen(host=H200, *, exclusive=False, caller=None, notes=None):
    told = [] if notes is None else notes
    return choose_gpus(recipe(), host, exclusive=exclusive, note=told.append, caller=caller or {})


def test_every_gpu_of_the_model_that_was_asked_for_may_be_used(smi):
    smi(gpus=3)
    assert chosen() == (0, 1)
    assert chosen(MIXED) == (1, 2), "not the A100"


def test_those_that_nobody_computes_on_come_first_and_the_others_are_told_of(smi):
    smi(busy=(0,))
    notes = []
    assert chosen(notes=notes) == (1, 0)
    assert notes == ["GPU 0 is used by python3 (process 4700): --exclusive would refuse it"]


def test_exclusive_takes_none_that_another_program_computes_on(smi):
    smi(busy=(0,))
    assert chosen(exclusive=True) == (1,)


def test_exclusive_is_refused_where_none_is_free(smi):
    smi(busy=(0, 1))
    with pytest.raises(DeviceError, match=r"GPU 1 is used by python3 \(process 4701\)"):
        chosen(exclusive=True)


def test_exclusive_is_refused_where_nobody_knows(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceError, match="nvidia-smi is not installed"):
        chosen(exclusive=True)
    notes = []
    assert chosen(notes=notes) == (0, 1)
    assert notes == ["what else is on the GPU is not known: nvidia-smi is not installed"]


def test_exclusive_is_refused_where_the_answer_has_another_gpu(smi):
    smi(gpus=1)
    assert chosen(exclusive=True) == (0,), "not 1, of which nothing was told"


@pytest.mark.parametrize("given", ["1", " 1 ", "GPU-1abc", "1,7"])
def test_what_a_scheduler_gave_this_process_is_all_that_is_used(smi, given):
    smi()
    assert chosen(caller={"CUDA_VISIBLE_DEVICES": given}) == (1,)


@pytest.mark.parametrize("given", ["", "7", "GPU-9"])
def test_a_process_that_was_given_none_of_them_is_refused(smi, given):
    smi()
    with pytest.raises(DeviceError, match="given none of the GPUs"):
        chosen(caller={"CUDA_VISIBLE_DEVICES": given})


@pytest.mark.parametrize(("state", "says"), [({"errors": "3"}, "3 uncorrected"), ({"mig": "Enabled"}, "MIG")])
def test_what_is_wrong_with_a_gpu_is_told_before_it_trains(smi, state, says):
    smi(gpus=1, **state)
    notes = []
    chosen({**NONE, "gpus": H200["gpus"][:1]}, notes=notes)
    assert says in notes[0]


def with_driver(version):
    return {**NONE, "gpus": [{"name": "NVIDIA H200", "driver": version}]}


@pytest.mark.parametrize("version", ["580.65.06", "580.105.8", "595.1"])
def test_a_driver_that_is_new_enough_hinders_nothing(version):
    must_have_driver(recipe(), with_driver(version), least="580.65.06")


def test_a_driver_that_is_too_old_is_refused_for_virtual_environments_too():
    with pytest.raises(DeviceError, match=r"580\.65\.06 or newer"):
        must_have_driver(recipe(), with_driver("535.183.01"), least="580.65.06")


VENV = Realisation(
    variant="cuda",
    kind="venv",
    reference="/v",
    digest="sha256:1",
    python="/v/python",
    lock_digest="sha256:2",
)


def test_members_of_a_sweep_that_run_side_by_side_are_given_a_gpu_each(tmp_path):
    there = Environment(realisation=VENV, backend="local", runs_dir=tmp_path, gpus=(1, 3))
    whole = plan_recipe(recipe(), environment=there, seed=42, stamp="20261123T000000Z")
    ready = PreparedRuns(plan=whole, environment=there, backend=LocalBackend())
    group = SweepGroup(recipe=recipe(), request=Request(), seeds=(42,), host=H200, ready=ready)
    plans = [group.plan(42, core=None, place=place) for place in (0, 1, 2)]
    assert [plan.specs[0].limits.gpus for plan in plans] == [(1,), (3,), (1,)]


def test_runs_side_by_side_are_given_a_gpu_each(tmp_path):
    there = Environment(realisation=VENV, backend="local", runs_dir=tmp_path, gpus=(2, 0))
    asked = {"stamp": "20261123T000000Z", "seed": 42}
    plan = plan_recipe(recipe(), WholeRun(repeats=3), environment=there, **asked)
    assert [spec.limits.gpus for spec in plan.specs] == [(2,), (0,), (2,)]
    plan = plan_recipe(recipe(""), WholeRun(), environment=replace(there, gpus=()), **asked)
    assert {spec.limits.gpus for spec in plan.specs} == {None}


def test_a_run_beside_another_program_does_not_start_where_exclusive_was_typed(tmp_path, monkeypatch, smi):
    for name in ("recipes", "images"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setattr("reprokit.capture.capture_host", lambda _root: H200)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    smi(busy=(0, 1))
    project = Project.around(tmp_path)
    (folder,) = run_recipe(
        recipe(),
        Request(exclusive=True),
        WholeRun(),
        session=Session(project=project, progress=RecordedProgress()),
    )
    record = json.loads((folder / "run.json").read_text())
    assert record["outcome"] == "start_refused"
    assert "GPU 0 is used by python3 (process 4700)" in record["message"]
    assert "--exclusive" in record["remedy"]
