"""A trainer started from its file: what it gets, what is proven around it, what goes wrong."""

import json

import pytest
import torch

from reprokit.errors import RecipeError, WorkspaceError
from reprokit.runtime.launch import launch, load_trainer, main

pytestmark = pytest.mark.usefixtures("global_state", "imported_modules")

TRAINER = """
from dataclasses import dataclass
import torch
from reprokit.runtime import checkpoint
from reprokit.runtime.run import Run

@dataclass(frozen=True)
class Training:
    steps: int = 2

@dataclass(frozen=True)
class Config:
    training: Training = Training()

def train(config: Config, run: Run) -> None:
    run.seeding.seed_everything()
    run.seeding.environment_seeds(2)
    model = torch.nn.Linear(1, 1)
    for step in range(1, config.training.steps + 1):
        run.metrics.write(step=step, **{"loss/value": torch.rand(1)})
        run.trace.update(step=step, parameters=dict(model.named_parameters()))
        run.timing.write(step=step, total_steps=config.training.steps, phase="train")
    run.checkpoints.save(checkpoint.training_state(step=step, model=model))
    run.checkpoints.save_final(model)
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "trainer.py").write_text(TRAINER)
    (tmp_path / "config.yaml").write_text("training:\n  steps: 3\n")
    (tmp_path / "out").mkdir()
    return tmp_path


def launched(place, *, at_start=None, device="cpu"):
    launch(
        place / "trainer.py",
        run_dir=place / "out",
        config=place / "config.yaml",
        seed=7,
        device=device,
        at_start=at_start or {},
    )
    return {path.name for path in (place / "out").iterdir()}


def read(place, name):
    return json.loads((place / "out" / name).read_text())


def test_a_run_leaves_every_record(place):
    assert launched(place) == {
        "metrics.jsonl",
        "timing.jsonl",
        "trace.jsonl",
        "checkpoints",
        "environment.json",
        "runtime.json",
    }
    steps = [json.loads(line)["step"] for line in (place / "out" / "metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2, 3]


def test_the_runtime_record_says_what_was_seeded(place):
    launched(place)
    seeding = read(place, "runtime.json")["seeding"]
    assert seeding["seed"] == 7
    assert set(seeding["generators"]) == {"python", "numpy", "torch", "environment[0]", "environment[1]"}


def test_every_checkpoint_is_proven_to_load(place):
    launched(place)
    proof = read(place, "runtime.json")["checkpoints"]
    listed = read(place, "checkpoints/MANIFEST.json")["files"]
    assert {name: entry["sha256"] for name, entry in proof.items()} == {
        name: entry["sha256"] for name, entry in listed.items()
    }
    assert all(entry["loadable"] for entry in proof.values())


def test_settings_that_were_not_there_are_recorded_and_told(place, capsys):
    launched(place)
    missing = {lack["name"] for lack in read(place, "runtime.json")["numerics"]["missing"]}
    assert {"PYTHONHASHSEED", "REPROKIT_NUMERICS"} <= missing
    assert "warning: PYTHONHASHSEED is not in force" in capsys.readouterr().err


def test_the_environment_record_holds_the_profile_and_the_flags_set_while_training(place):
    launched(place, at_start={"REPROKIT_NUMERICS": "native"})
    environment = read(place, "environment.json")
    assert environment["numerics"]["profile"] == "native"
    assert environment["torch"]["version"] == str(torch.__version__)
    assert environment["torch"]["flags"]["deterministic_algorithms"] is True


def test_a_trainer_that_crashes_leaves_the_records_made_before(place):
    text = TRAINER.replace("    run.checkpoints.save_final(model)", "    raise RuntimeError('broken')")
    (place / "trainer.py").write_text(text)
    with pytest.raises(RuntimeError, match="broken"):
        launched(place)
    assert read(place, "environment.json")["schema"] == 1
    assert read(place, "runtime.json")["numerics"]["profile"] is None


def test_a_folder_that_holds_records_is_refused(place):
    launched(place)
    with pytest.raises(WorkspaceError, match="there already"):
        launched(place)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1\n", "not a trainer"),
        (TRAINER.replace("def train(", "def fit("), "not a trainer"),
        (TRAINER.replace("@dataclass(frozen=True)\nclass Config", "class Config"), "not a trainer"),
    ],
)
def test_a_file_that_is_no_trainer_is_refused(place, text, told):
    (place / "trainer.py").write_text(text)
    with pytest.raises(RecipeError, match=told):
        load_trainer(place / "trainer.py")


@pytest.mark.parametrize("name", ["gone.py", "config.yaml"])
def test_a_file_that_is_no_python_is_refused(place, name):
    with pytest.raises(RecipeError, match=name):
        load_trainer(place / name)


def test_the_command_line_ends_with_the_errors_own_code(place, capsys):
    (place / "config.yaml").write_text("training:\n  stepz: 3\n")
    arguments = ["--run-dir", str(place / "out"), "--config", str(place / "config.yaml"), "--seed", "1"]
    assert main([*arguments, "--", str(place / "trainer.py")]) == 2
    assert "error: " in (told := capsys.readouterr().err)
    assert "unknown setting training.stepz" in told


def test_the_command_line_trains(place):
    arguments = ["--run-dir", str(place / "out"), "--config", str(place / "config.yaml"), "--seed", "1"]
    assert main([*arguments, "--device", "cpu", "--", str(place / "trainer.py")]) == 0
    assert (place / "out" / "checkpoints" / "final_model.pt").is_file()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_told_before_anything_is_written(place, capsys):
    arguments = ["--run-dir", str(place / "out"), "--config", str(place / "config.yaml"), "--seed", "1"]
    assert main([*arguments, "--device", "cuda", "--", str(place / "trainer.py")]) == 3
    assert "finds none" in capsys.readouterr().err
    assert list((place / "out").iterdir()) == []
