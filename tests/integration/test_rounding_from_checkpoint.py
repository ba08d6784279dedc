"""Late records of a real trainer judged from a checkpoint: one that rounds, one that begins late."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch")

from reprokit.features.compare.answer import FILE, Answer, Word
from reprokit.features.compare.asked import sides_asked
from reprokit.features.compare.audit import audit
from reprokit.features.compare.compare import compare_recipe
from reprokit.features.compare.rounding.made_twins import RoundingAsked
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

PROJECT = Path(__file__).resolve().parents[2]
TRAINER = "recipes/trainers/classifier.py"
#: Rounding alone moves the loss by more than 1 % from record 50 of 80 on.
UNSTEADY = (
    "model.hidden_sizes=[128,128]",
    "training.total_timesteps=5000",
    "training.learning_rate=0.02",
    "training.lr_schedule=constant",
    "logging.save_interval=320",
)
#: The images of each batch in the reverse order, whose gradients are the same sums in another order.
REVERSED = (
    ("torch.from_numpy(batch.labels[part])", "torch.from_numpy(batch.labels[part][::-1].copy())"),
    ("as_input(batch.inputs[part], run)", "as_input(batch.inputs[part][::-1].copy(), run)"),
)
LATE = 4000
#: Beyond where whole runs are judged, each step is 0.1 % longer than the learning rate that is logged.
LONGER = (
    "adam.step(learning_rate=learning_rate,",
    f"adam.step(learning_rate=learning_rate * (1.001 if batch.step > {LATE} else 1.0),",
)
IGNORED = ("resume(run, model=model, optimizer=adam)", "0")


def compared(root: Path, changes, *, step: int) -> tuple[Answer, Path]:
    subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(root)], check=True)
    text = (root / TRAINER).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (root / TRAINER).write_text(text)
    answer, report = compare_recipe(
        "digits_mlp",
        sides_asked({"a": "HEAD"}),
        Request(backend="local", overrides=UNSTEADY),
        only=("loss/train", "optim/grad_norm"),
        share=(),
        rounding=RoundingAsked(allowed=True, from_step=step),
        session=Session(project=Project.around(root), progress=RecordedProgress()),
    )
    assert report is not None
    assert audit(report / FILE).findings == ()
    return answer, report


@pytest.mark.parametrize(
    ("changes", "word", "exit_code"),
    [(REVERSED, Word.ROUNDING, 0), ((*REVERSED, LONGER), Word.DIFFERENT, 1)],
    ids=["harmless", "late"],
)
def test_records_that_whole_runs_do_not_judge_are_judged_from_a_checkpoint(
    tmp_path, monkeypatch, changes, word, exit_code
):
    monkeypatch.chdir(tmp_path)
    answer, _ = compared(tmp_path / "project", changes, step=2269)
    whole = {one["finding"] for one in answer.rounding["metrics"].values()}
    assert "unjudged" in whole, answer.sentence
    assert "different" not in whole, answer.sentence
    assert (answer.answer, answer.exit_code) == (word, exit_code), answer.sentence
    if word is Word.DIFFERENT:
        assert answer.rounding["from_checkpoint"]["first"]["step"] > LATE


def test_a_side_that_begins_anew_in_spite_of_the_checkpoint_is_unjudged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer, _ = compared(tmp_path / "project", (*REVERSED, IGNORED), step=2269)
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)
    assert "side b did not go on from the checkpoint of step 2269: its first record is of step 0" in (
        answer.sentence
    )
