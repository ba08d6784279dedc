"""PyTorch/XLA for real, compiled for the CPU that stands for a TPU, in the environment of the variant tpu.

Its first use downloads three gigabytes; the environment is kept.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reprokit import checkpoints, recipes
from reprokit.harness.running.environments import recipe_data
from reprokit.layout import CHECKPOINTS, CONFIG, FINAL_MODEL, METRICS, RECORD, RUNTIME, SOURCE, TRACE
from reprokit.runtime import xla_backend
from support.kept_python import kept_python
from support.study_project import ROOT, Answer, Study

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]

HERE = Path(__file__).parent
TORCH_TPU = HERE.parent / "support" / "torch_tpu" / "requirements.lock"
_STEPS, _EVERY = 2560, 320  # 40 updates, a checkpoint after every fifth
_SHORT = (
    f"training.total_timesteps={_STEPS}",
    f"logging.save_interval={_EVERY}",
    "logging.eval_interval=1280",
)
#: A recipe, an end half as far away as a second one, and where its run is stopped to be resumed.
_RECIPES = {
    "cartpole_baseline": (8192, 16384, 4097),
    "cartpole_dqn": (2000, 4000, 1600),
    "mnist_cnn": (4000, 8000, 2600),
    "char_gpt": (4, 8, 5),
}
#: mnist_cnn with checkpoints in time to be resumed from.
_SHORTER = ("training.total_timesteps=8000", "logging.save_interval=1280")
#: A program for every kind of update, evaluation and state, and for every length of a text that is written.
_MOST_COMPILATIONS = {"cartpole_baseline": 20, "cartpole_dqn": 12, "mnist_cnn": 12, "char_gpt": 20}


def _reproduce(place: Path, *words: str, recipe: str = "mnist_cnn") -> Answer:
    folders = ("--runs-dir", str(place / "runs"), "--reports-dir", str(place / "reports"))
    where = ("--platform", "xla-cpu", "--backend", "local", "--json")
    return Study(root=ROOT).reprokit("reproduce", recipe, *where, *folders, *words, timeout=1700)


def _compilations(run: str) -> int:
    return json.loads(Path(run, RUNTIME).read_text())["device"]["compilations"]


def _golden_holds(recipe: str, place: Path) -> None:
    answer = _reproduce(place, recipe=recipe)
    assert answer.report["platform"] == "xla-cpu"
    assert (answer.row("repeatable")["status"], answer.row("seeded")["status"]) == ("PASSED", "PASSED")
    moved = [one for one in answer.report["environment_diff"] if one["can_change_numbers"] != "no"]
    if not moved:  # XLA compiles for the CPU that it finds: on another one, other numbers agree
        assert (answer.code, answer.report["verdict"]) == (0, "REPRODUCED"), answer.err
    first, second = (_compilations(run) for run in answer.report["runs"])
    assert first == second <= _MOST_COMPILATIONS[recipe]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", sorted(_RECIPES))
def test_the_golden_of_a_recipe_holds_through_xla_and_no_update_is_compiled_anew(recipe, tmp_path):
    _golden_holds(recipe, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", sorted(_RECIPES))
def test_twice_as_many_updates_are_no_more_programs(recipe, tmp_path):
    few, many, _ = _RECIPES[recipe]
    told = []
    for steps in (few, many):
        runs = tmp_path / str(steps)
        words = ("--platform", "xla-cpu", "--backend", "local", "--runs-dir", str(runs))
        set_to = ("--set", f"training.total_timesteps={steps}")
        answer = Study(root=ROOT).reprokit("run", recipe, *words, *set_to, timeout=900)
        assert answer.code == 0, answer.err
        (folder,) = (runs / recipe).iterdir()
        told.append(_compilations(str(folder)))
    assert told[0] == told[1] <= _MOST_COMPILATIONS[recipe]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", sorted(_RECIPES))
def test_a_run_killed_and_resumed_through_xla_ends_with_the_bytes_of_one_that_was_not(recipe, tmp_path):
    stop = _RECIPES[recipe][2]
    words = [word for one in (_SHORTER if recipe == "mnist_cnn" else ()) for word in ("--set", one)]
    answer = _reproduce(tmp_path, "--resume", "--stop-at", str(stop), *words, recipe=recipe)
    assert answer.row("resume_equal")["status"] == "PASSED", answer.row("resume_equal")["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", sorted(_RECIPES))
def test_a_recipe_computes_in_bfloat16_through_xla_and_is_resumed_byte_for_byte(recipe, tmp_path):
    stop = _RECIPES[recipe][2]
    settings = ["training.precision=bfloat16", *(_SHORTER if recipe == "mnist_cnn" else ())]
    words = [word for one in settings for word in ("--set", one)]
    answer = _reproduce(tmp_path, "--resume", "--stop-at", str(stop), *words, recipe=recipe)
    assert answer.row("repeatable")["status"] == "PASSED", answer.err
    assert answer.row("resume_equal")["status"] == "PASSED", answer.row("resume_equal")["reason"]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A short run through XLA, with a checkpoint in its middle."""
    place = tmp_path_factory.mktemp("xla")
    answer = _reproduce(place, *(word for one in _SHORT for word in ("--set", one)))
    assert answer.row("repeatable")["status"] == "PASSED", answer.err
    return Path(answer.report["runs"][0])


def test_a_short_training_through_xla_repeats_and_compiles_no_update_anew(run):
    assert len((run / METRICS).read_bytes().splitlines()) == 1 + _STEPS // 64
    assert 0 < _compilations(str(run)) <= _MOST_COMPILATIONS["mnist_cnn"]


def _python() -> str:
    """The interpreter of the variant's environment, which is made on first use."""
    (environment,) = Study(root=ROOT).reprokit("image", "build", "tpu", "--venv", timeout=1200).out.split()
    return f"{environment}/bin/python"


def _goes_on(run: Path, checkpoint: Path, to: Path, *, device: str, starter: tuple[str, ...] = ()) -> Path:
    """The run's own command, from a checkpoint, on one of the devices that its environment has."""
    to.mkdir()
    recipe = recipes.load("mnist_cnn", recipes_dir=ROOT / "recipes")
    places = {
        "{python}": _python(),
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
    command = [*starter, *(_filled(word, places) for word in words)]
    subprocess.run(command, env=variables, check=True, capture_output=True, timeout=900)
    return to


def _filled(word: str, places: dict[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(name, place)
    return word


@pytest.mark.slow
@pytest.mark.parametrize("step", range(_EVERY, _STEPS, _EVERY))
def test_a_run_through_xla_goes_on_from_every_checkpoint_byte_for_byte(run, tmp_path, step):
    other = _goes_on(run, run / CHECKPOINTS / f"checkpoint_{step}.pt", tmp_path / "on", device="tpu")
    for name in (METRICS, TRACE):
        later = (other / name).read_text().splitlines()
        assert len(later) == (_STEPS - step) // 64
        assert (run / name).read_text().splitlines()[-len(later) :] == later
    models = [(one / CHECKPOINTS / FINAL_MODEL).read_bytes() for one in (run, other)]
    assert models[0] == models[1]


@pytest.mark.slow
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one CPU")
def test_the_number_of_cpus_changes_no_bit(run, tmp_path):
    checkpoint = run / CHECKPOINTS / f"checkpoint_{_EVERY}.pt"
    core = str(max(os.sched_getaffinity(0)))
    all_of_them = _goes_on(run, checkpoint, tmp_path / "all", device="tpu")
    one = _goes_on(run, checkpoint, tmp_path / "one", device="tpu", starter=("taskset", "--cpu-list", core))
    assert (all_of_them / METRICS).read_bytes() == (one / METRICS).read_bytes()


@pytest.mark.slow
def test_a_checkpoint_moves_from_xla_to_a_cpu_and_back(run, tmp_path):
    checkpoint = run / CHECKPOINTS / f"checkpoint_{_STEPS // 2}.pt"
    assert "model" in checkpoints.read(checkpoint), "it is read without torch, and names no device"
    on_cpu = _goes_on(run, checkpoint, tmp_path / "cpu", device="cpu")
    expected, actual = (_last(place)["final/loss"] for place in (run, on_cpu))
    assert actual == pytest.approx(expected, rel=1e-3)
    _goes_on(run, on_cpu / CHECKPOINTS / f"checkpoint_{_STEPS}.pt", tmp_path / "back", device="tpu")


def _last(run: Path) -> dict[str, float]:
    return json.loads((run / METRICS).read_text().splitlines()[-1])


def _in_environment(
    script: str, *, python: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A program of tests/integration/xla, in the variant's environment if no other is named."""
    command = [python or _python(), str(HERE / "xla" / script)]
    own = {"PJRT_DEVICE": "CPU", "NPROC": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(command, env=own, check=False, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_the_hosts_of_a_pod_write_the_same_bytes_by_one_command(tmp_path):
    """Four processes stand for the hosts, each told its number as a pod's are, all at one time."""
    words = ["run", "mnist_cnn", "--platform", "xla-cpu", "--backend", "local"]
    words += [word for one in _SHORT for word in ("--set", one)]

    def on_host(number: int) -> Answer:
        names = ",".join(f"host-{one}" for one in range(4))
        told = {"TPU_WORKER_ID": str(number), "TPU_WORKER_HOSTNAMES": names}
        place = ("--runs-dir", str(tmp_path / str(number)))
        return Study(root=ROOT).reprokit(*words, *place, env=told, timeout=900)

    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(on_host, range(4)))
    assert [answer.code for answer in answers] == [0] * 4, [answer.err for answer in answers]
    runs = sorted(tmp_path.glob("*/mnist_cnn/*"))
    assert len(runs) == 4
    for name in (METRICS, TRACE, f"{CHECKPOINTS}/{FINAL_MODEL}"):
        assert len({(run / name).read_bytes() for run in runs}) == 1, name
    compared = [str(run / METRICS) for run in (runs[0], runs[3])]
    assert Study(root=ROOT).reprokit("diff", *compared).code == 0


@pytest.mark.slow
def test_one_program_over_four_virtual_devices_repeats():
    told = []
    for number in ("4", "4", "1"):
        done = _in_environment("over_devices.py", CPU_NUM_DEVICES=number)
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    four, again, one = told
    assert (four["devices"], one["devices"]) == (4, 1)
    assert "devices=[4,1,1,1]" in four["sharding"], "the images of a batch lie on four devices"
    assert four == again
    assert four["losses"] == pytest.approx(one["losses"], rel=1e-4)


@pytest.mark.slow
def test_torchtpu_can_be_imported_and_has_what_one_backend_file_would_call():
    """Its packages take two gigabytes; they are kept."""
    python = str(kept_python("torch-tpu", TORCH_TPU, on_top=False))
    done = _in_environment("other_stack.py", python=python)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    asked = {name for name, one in vars(xla_backend).items() if inspect.isfunction(one) and name[0] != "_"}
    assert set(found["has"]) == asked - {"in_use", "compilations"}, (
        "each function, but what asks Python alone"
    )
    assert all(found["has"].values()), found
