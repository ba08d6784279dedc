"""The recipes on a real GPU: settings in force, equal twice, resumed as if they had never stopped.

Runs and reports stay in ``runs/`` and ``reports/``: ``run_all.py`` makes the goldens from them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.core import numerics
from reprokit.layout import ENVIRONMENT, RUNTIME
from support.gpu_host import RECIPES, ROOT, Gpu
from support.study_project import Answer, Study

pytestmark = [pytest.mark.cuda, pytest.mark.timeout(3 * 3600)]

_LONGEST_S = 2 * 3600
_ROWS = (
    *("repeatable", "trace_equal", "seeded", "numerics_in_force", "hardware_recorded", "versions_locked"),
    *("environment_recorded", "checkpoints_complete", "resume_equal"),
)


def _asked(gpu: Gpu, verb: str, name: str, *words: str) -> Answer:
    where = ("--platform", gpu.platform, "--backend", gpu.backend)
    return Study(root=ROOT).reprokit(verb, name, *where, *words, timeout=_LONGEST_S)


def test_every_setting_is_in_force_inside(gpu, tmp_path):
    short = ("--set", "training.total_timesteps=8192", "--runs-dir", str(tmp_path))
    answer = _asked(gpu, "run", "cartpole_baseline", *short)
    assert answer.code == 0, answer.err
    folder = Path(answer.out.split()[-1])
    runtime, record = (json.loads((folder / name).read_text()) for name in (RUNTIME, ENVIRONMENT))
    assert runtime["numerics"]["missing"] == []
    assert runtime["numerics"]["cuda"]["requested"] == numerics.cuda_variables()
    device = record["inside"]["device"]
    assert device["kind"] == "cuda"
    assert [name for name in numerics.CUDA_FACTS if not device.get(name)] == []
    assert record["inside"]["torch"]["cuda_flags"]["cudnn_allow_tf32"] is False


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_equal_twice_and_when_it_is_resumed(gpu, name):
    answer = _asked(gpu, "reproduce", name, "--resume", "--json")
    assert answer.out, answer.err
    assert answer.report["verdict"] in {"REPRODUCED", "NO_GOLDEN"}, answer.err
    assert answer.report["platform"] == gpu.platform
    rows = {row: answer.row(row) for row in _ROWS}
    assert {name: row["reason"] for name, row in rows.items() if row["status"] != "PASSED"} == {}
