"""Every recipe, whatever it trains: it loads, repeats, is not changed by being evaluated, and can continue.

A recipe that is added is tested from then on. Trainings are cut to a few updates and run in this process;
the slow test runs every recipe whole, as a person does.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.harness import datasets
from reprokit.harness.running.environments import recipe_data
from reprokit.harness.running.programs.program import declared
from reprokit.project import Project

PROJECT = Path(__file__).resolve().parents[2]
NAMES = recipes.list_names(PROJECT / "recipes")
# What a recipe has of these is set to so little that a training takes a second.
FEW = {
    "environment.max_episode_steps": 40,
    "model.hidden_sizes": [16, 16],
    "training.total_timesteps": 1024,
    "training.rollout_steps": 32,
    "training.batch_size": 32,
    "training.n_epochs": 2,
    "model.channels": [2],
    "training.learning_starts": 200,
    "logging.log_interval": 128,
    "logging.save_interval": 256,
    "logging.eval_interval": 1024,
    "logging.eval_episodes": 2,
    "logging.final_eval_episodes": 2,
}
OFTEN = {"logging.eval_interval": 256, "logging.eval_episodes": 3, "logging.final_eval_episodes": 4}
# Of a trainer that counts its steps in updates.
FEW_UPDATES = {
    "training.total_timesteps": 8,
    "training.batch_size": 4,
    "model.num_layers": 2,
    "model.width": 16,
    "logging.save_interval": 2,
    "logging.eval_interval": 8,
    "logging.eval_blocks": 4,
    "logging.final_eval_blocks": 4,
    "logging.sample_length": 8,
}
OFTEN_UPDATES = {"logging.eval_interval": 2, "logging.eval_blocks": 8, "logging.num_samples": 2}

#: The first recipe of each trainer; the others of it are trained at night.
_FIRST = {recipes.load(name, recipes_dir=PROJECT / "recipes").trainer: name for name in reversed(NAMES)}
TRAINED = [name if name in _FIRST.values() else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def data_of_all_recipes():
    """In the cache, as `make test` brings it there; a run never fetches."""
    project = Project.around(PROJECT)
    datasets.fetched([], project=project, offline=False, if_any=True, on_progress=lambda *_: None)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As every profile has it."""
    before, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
    torch.set_deterministic_debug_mode(mode)


def cut(name, *, often=False):
    recipe = recipes.load(name, recipes_dir=PROJECT / "recipes")
    known = {
        f"{section}.{key}": value
        for section, values in recipe.training_config.items()
        for key, value in values.items()
    }
    usual, more = (FEW_UPDATES, OFTEN_UPDATES) if "logging.eval_blocks" in known else (FEW, OFTEN)
    changes = usual | more if often else usual
    few = {path: value for path, value in changes.items() if path in known}
    return recipes.load(
        name,
        recipes_dir=PROJECT / "recipes",
        overrides=[f"{path}={json.dumps(value)}" for path, value in few.items()],
    )


def trained(recipe, folder, *, resume_from=None):
    from reprokit.runtime import config  # noqa: PLC0415 - these import torch
    from reprokit.runtime.launch import load_trainer  # noqa: PLC0415
    from reprokit.runtime.run import Run  # noqa: PLC0415

    trainer = load_trainer(recipe.trainer)
    settings = config.build(trainer.Config, recipe.training_config)
    beside = {one.name: recipe.path / one.name for one in declared(recipe)}
    data = beside | {one.name: one.path for one in recipe_data.fetched(recipe)}
    with Run.open(
        folder,
        seed=recipe.seeds[0],
        device="cpu",
        clock=time.perf_counter,
        resume_from=resume_from,
        data=data,
    ) as run:
        trainer.train(settings, run)
    return folder


def records(out, name="metrics.jsonl"):
    return [json.loads(line) for line in (out / name).read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Each recipe's short training, made once."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = trained(cut(name), tmp_path_factory.mktemp(name))
        return made[name]

    return of


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_declares_what_a_gate_needs(name):
    recipe = recipes.load(name, recipes_dir=PROJECT / "recipes")
    assert recipe.expected
    assert recipe.nondeterminism is not None
    assert recipe.platforms


@pytest.mark.parametrize("name", TRAINED)
def test_two_runs_are_byte_identical(name, whole, tmp_path):
    again = trained(cut(name), tmp_path)
    for file in ("metrics.jsonl", "trace.jsonl", "checkpoints/MANIFEST.json"):
        assert (again / file).read_bytes() == (whole(name) / file).read_bytes(), file
    assert len(records(again, "trace.jsonl")) > 1


@pytest.mark.parametrize("name", TRAINED)
def test_a_resumed_run_goes_on_bit_for_bit(name, whole, tmp_path):
    steps = sorted(int(path.stem.split("_")[1]) for path in whole(name).glob("checkpoints/checkpoint_*.pt"))
    step = steps[len(steps) // 2 - 1]
    resumed = trained(cut(name), tmp_path, resume_from=whole(name) / "checkpoints" / f"checkpoint_{step}.pt")
    for file in ("metrics.jsonl", "trace.jsonl"):
        later = [record for record in records(whole(name), file) if record["step"] > step]
        assert later
        assert [repr(record) for record in records(resumed, file)] == [repr(record) for record in later]
    for late in (*(f"checkpoint_{one}.pt" for one in steps if one > step), "final_model.pt"):
        assert digests(resumed)[late] == digests(whole(name))[late], late


def digests(out):
    listed = json.loads((out / "checkpoints" / "MANIFEST.json").read_text())["files"]
    return {name: entry["sha256"] for name, entry in listed.items()}


@pytest.mark.parametrize("name", TRAINED)
def test_evaluation_changes_no_number_of_the_training(name, whole, tmp_path):
    often = trained(cut(name, often=True), tmp_path)
    assert sum("eval/" in str(record) for record in records(often)) > sum(
        "eval/" in str(record) for record in records(whole(name))
    )
    for one, other in zip(records(whole(name)), records(often), strict=True):
        training = {key for key in one if not key.startswith(("eval/", "final/"))}
        assert {key: repr(other[key]) for key in training} == {key: repr(one[key]) for key in training}
    assert (often / "trace.jsonl").read_bytes() == (whole(name) / "trace.jsonl").read_bytes()
    kept = {file for file in digests(often) if file.startswith("checkpoint")}
    assert {file: digests(often)[file] for file in kept} == {
        file: digests(whole(name))[file] for file in kept
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_as_it_stands_repeats_goes_on_and_reaches_what_it_promises(name, tmp_path):
    places = ("--runs-dir", str(tmp_path / "runs"), "--reports-dir", str(tmp_path / "reports"))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "reprokit",
            "reproduce",
            name,
            "--backend",
            "local",
            "--resume",
            "--json",
            *places,
        ],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    wrong = [row["reason"] for row in report["checks"] if row["status"] in {"FAILED", "ERROR"}]
    assert (report["verdict"] in {"REPRODUCED", "NO_GOLDEN"}, wrong) == (True, []), done.stderr
