"""PyTorch/XLA for real, compiled for the CPU that stands for a TPU, in the environment of the variant tpu.

Its first use downloads three gigabytes; the environment is kept.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.harness.running import recipe_data
from reprokit.layout import CHECKPOINTS, CONFIG, METRICS, RECORD, RUNTIME, SOURCE
from support.study_project import ROOT, Answer, Study

pytestmark = [pytest.mark.alone, pytest.mark.timeout(1800)]

_STEPS, _HALF = 2560, 1280
_SHORT = (
    f"training.total_timesteps={_STEPS}",
    f"logging.save_interval={_HALF}",
    f"logging.eval_interval={_HALF}",
)


def _reproduce(place: Path, *words: str) -> Answer:
    folders = ("--runs-dir", str(place / "runs"), "--reports-dir", str(place / "reports"))
    where = ("--platform", "xla-cpu", "--backend", "local", "--json")
    return Study(root=ROOT).reprokit("reproduce", "mnist_cnn", *where, *folders, *words, timeout=1700)


def _compilations(run: str) -> int:
    return json.loads(Path(run, RUNTIME).read_text())["device"]["compilations"]


def test_the_golden_of_a_recipe_holds_through_xla_and_no_update_is_compiled_anew(tmp_path):
    answer = _reproduce(tmp_path)
    assert answer.report["platform"] == "xla-cpu"
    assert (answer.row("repeatable")["status"], answer.row("seeded")["status"]) == ("PASSED", "PASSED")
    moved = [one for one in answer.report["environment_diff"] if one["can_change_numbers"] != "no"]
    if not moved:  # XLA compiles for the CPU that it finds: on another one, other numbers agree
        assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.err
    first, second = (_compilations(run) for run in answer.report["runs"])
    assert first == second <= 12, "programs: an update, the last batch of an epoch, two evaluations"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A short run through XLA, with a checkpoint in its middle."""
    place = tmp_path_factory.mktemp("xla")
    answer = _reproduce(place, *(word for one in _SHORT for word in ("--set", one)))
    assert answer.row("repeatable")["status"] == "PASSED", answer.err
    return Path(answer.report["runs"][0])


def _goes_on(run: Path, checkpoint: Path, to: Path, *, device: str) -> Path:
    """The run's own command, from a checkpoint, on one of the devices that its environment has."""
    to.mkdir()
    (environment,) = Study(root=ROOT).reprokit("image", "build", "tpu", "--venv").out.split()
    recipe = recipes.load("mnist_cnn", recipes_dir=ROOT / "recipes")
    places = {
        "{python}": f"{environment}/bin/python",
        "{run_dir}": str(to),
        "{seed}": "42",
        "{device}": device,
        "{mounts}/recipes": str(run / SOURCE),
        "{mounts}/data/mnist_5k.csv.gz": str(recipe_data.fetched(recipe)[0].path),
        "{mounts}/config.yaml": str(run / CONFIG),
    }
    record = json.loads((run / RECORD).read_text())
    before_trainer = record["command"].index("--")
    words = [*record["command"][:before_trainer], "--resume-from", str(checkpoint)]
    words += record["command"][before_trainer:]
    variables = {**record["environment"], "PYTHONPATH": str(ROOT)}
    command = [_filled(word, places) for word in words]
    subprocess.run(command, env=variables, check=True, capture_output=True, timeout=900)
    return to


def _filled(word: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(name, place)
    return word


@pytest.mark.slow
def test_a_checkpoint_moves_from_xla_to_a_cpu_and_back(run, tmp_path):
    checkpoint = run / CHECKPOINTS / f"checkpoint_{_HALF}.pt"
    on_cpu = _goes_on(run, checkpoint, tmp_path / "cpu", device="cpu")
    expected, actual = (_last(place)["final/loss"] for place in (run, on_cpu))
    assert actual == pytest.approx(expected, rel=1e-3)
    _goes_on(run, on_cpu / CHECKPOINTS / f"checkpoint_{_STEPS}.pt", tmp_path / "back", device="tpu")


def _last(run: Path) -> dict[str, float]:
    return json.loads((run / METRICS).read_text().splitlines()[-1])
