"""The trainers on labelled data, on a small table: what repeats, what continues, what is refused."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from reprokit.errors import DataError
from reprokit.learning import Health, diagnose
from reprokit.runtime import config
from reprokit.runtime.launch import load_trainer
from reprokit.runtime.run import Run

TRAINERS = Path(__file__).resolve().parents[3] / "recipes" / "trainers"
SETTINGS = {
    "classifier": {
        "dataset": {"file": "rows.csv", "side": 4, "largest": 8, "num_classes": 3, "folds": 4, "shift": 1},
        "model": {"architecture": "cnn", "channels": [4], "hidden_sizes": [16]},
        "training": {"total_timesteps": 135, "batch_size": 7, "learning_rate": 1e-2},
        "logging": {"save_interval": 1, "eval_interval": 30},
    },
    "cross_validation": {
        "dataset": {"file": "rows.csv", "columns": ["first", "second"], "num_classes": 3, "folds": 3},
        "training": {"total_timesteps": 240, "batch_size": 7, "learning_rate": 1e-2},
        "logging": {"save_interval": 1, "eval_interval": 30},
    },
}
NAMES = tuple(SETTINGS)


@pytest.fixture(autouse=True, scope="module")
def torch_as_in_a_run():
    """One thread, as every run has it; and afterwards everything as it was."""
    mode, threads = torch.get_deterministic_debug_mode(), torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)


def table(num_rows=60):
    """Images of 4 × 4 pixels, brightest in the row of their class."""
    rng = np.random.default_rng(0)
    labels = np.arange(num_rows) % 3
    pixels = rng.integers(4, size=(num_rows, 4, 4))
    pixels[np.arange(num_rows), labels] += 4
    return np.column_stack([pixels.reshape(num_rows, 16), labels])


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Trains on a table with some settings or the trainer's text changed; gives the run's folder."""

    def trained(name, *, rows=None, edit=("", ""), resume_from=None, seed=42, **changes):
        folder = tmp_path_factory.mktemp(name)
        np.savetxt(folder / "rows.csv", table() if rows is None else rows, fmt="%d", delimiter=",")
        text = (TRAINERS / f"{name}.py").read_text(encoding="utf-8")
        assert edit[0] in text
        (folder / f"{name}.py").write_text(text.replace(*edit) if edit[0] else text, encoding="utf-8")
        trainer = load_trainer(folder / f"{name}.py")
        chosen = {part: {**section, **changes.get(part, {})} for part, section in SETTINGS[name].items()}
        data = {"rows.csv": folder / "rows.csv"}
        with Run.open(
            folder, seed=seed, device="cpu", clock=time.perf_counter, resume_from=resume_from, data=data
        ) as run:
            trainer.train(config.build(trainer.Config, chosen), run)
        return folder

    return trained


@pytest.fixture(scope="module")
def whole(train):
    return {name: train(name) for name in NAMES}


def records(folder, name="metrics.jsonl"):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def ids_of(update):
    """The ids of an update in order; three or more that count up are written ``first-last``."""
    parts = [part.split("-") for part in update["samples"]["ids"].split(",")]
    return [one for part in parts for one in range(int(part[0]), int(part[-1]) + 1)]


def curves(folder):
    found = {}
    for record in records(folder):
        for name, value in record.items():
            steps, values = found.setdefault(name, ([], []))
            steps.append(record["step"])
            values.append(value)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_training_goes_on_from_every_batch_to_the_byte(name, train, whole):
    steps = sorted(int(path.stem.split("_")[1]) for path in whole[name].glob("checkpoints/checkpoint_*.pt"))
    updates = [record["step"] for record in records(whole[name], "trace.jsonl")]
    assert steps == updates
    for step in steps[:: max(1, len(steps) // 6)]:
        resumed = train(name, resume_from=whole[name] / "checkpoints" / f"checkpoint_{step}.pt")
        for file in ("metrics.jsonl", "trace.jsonl"):
            later = [line for line in records(whole[name], file) if line["step"] > step]
            assert records(resumed, file) == later, (file, step)


@pytest.mark.parametrize("name", NAMES)
def test_every_update_says_its_samples_and_an_epoch_has_each_training_row_once(name, whole):
    found = records(whole[name], "trace.jsonl")
    sizes = [record["samples"]["count"] for record in found]
    assert sum(sizes) == found[-1]["step"]
    assert all(record["samples"]["contents"] for record in found)
    ids = [one for record in found for one in ids_of(record)]
    first = ids[: 45 if name == "classifier" else 40]
    assert len(first) == len(set(first))


@pytest.mark.parametrize("name", NAMES)
def test_the_first_loss_is_that_of_guessing(name, whole):
    first = records(whole[name])[0]
    assert first["step"] == 0
    assert first["initial/loss"] == pytest.approx(np.log(3), rel=1e-6)
    assert first["initial/chance_loss"] == np.log(3)


@pytest.mark.parametrize("name", NAMES)
def test_one_batch_is_memorised(name, train):
    alone = train(name, training={"overfit_batch": True, "total_timesteps": 2100})
    ids = {tuple(sorted(ids_of(one))) for one in records(alone, "trace.jsonl")}
    assert len(ids) == (1 if name == "classifier" else 3)
    assert records(alone)[-1]["loss/train"] < 0.1


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("classifier", ("nn.init.zeros_(last.weight)", "nn.init.constant_(last.weight[0], 5.0)")),
        ("cross_validation", ("nn.init.zeros_(last.weight)", "nn.init.constant_(last.weight[0], 5.0)")),
    ],
)
def test_a_last_layer_that_prefers_a_class_is_told_by_the_first_loss(name, edit, train):
    answers = diagnose(curves(train(name, edit=edit)))
    assert next(one for one in answers if one.id == "initial_loss").health is not Health.FINE


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_shuffled_labels_are_never_called_fine(train, share):
    rows = table(240)
    rng = np.random.default_rng(1)
    wrong = rng.choice(240, int(share * 240), replace=False)
    rows[wrong, -1] = rng.permutation(rows[wrong, -1])
    found = train(
        "classifier",
        rows=rows,
        model={"architecture": "mlp"},
        training={"total_timesteps": 9600, "batch_size": 32},
    )
    answer = next(one for one in diagnose(curves(found)) if one.id == "labels")
    assert answer.health in {Health.WRONG, Health.UNKNOWN}, answer


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            ("known = rows.features[training].", "known = rows.features."),
            r"column first of the training rows changes with held-out row \d+ of fold 0",
        ),
        (
            ("return prepared.astype(np.float32)", "return np.column_stack([prepared, rows.labels])"),
            r"column 16 of held-out row \d+ of fold 0 changes with held-out labels",
        ),
    ],
)
def test_a_leak_planted_in_the_preparation_ends_the_run_and_is_named(edit, told, train):
    with pytest.raises(DataError, match=told):
        train("cross_validation", edit=edit)


def test_the_label_among_the_features_ends_the_run_and_is_named(train):
    rows = table()
    rows[:, 1] = (rows[:, -1] + 1) * 2
    with pytest.raises(DataError, match="values of column second is of one class"):
        train("cross_validation", rows=rows)


def test_folds_by_row_are_the_same_for_every_seed_and_by_seed_are_not(train):
    def members(by, seed):
        folder = train(
            "cross_validation", seed=seed, dataset={"folds_by": by}, training={"total_timesteps": 120}
        )
        found = [set(), set(), set()]
        both = zip(records(folder)[1:], records(folder, "trace.jsonl"), strict=True)
        for metrics, update in both:
            found[metrics["fold/number"]] |= set(ids_of(update))
        return found

    assert members("row", 1) == members("row", 2)
    assert members("seed", 1) != members("seed", 2)


def test_a_data_set_of_another_shape_is_refused(train):
    with pytest.raises(ValueError, match="no image of 5 × 5"):
        train("classifier", dataset={"side": 5})
    with pytest.raises(ValueError, match="label 2 is none of 2 classes"):
        train("classifier", dataset={"num_classes": 2})
