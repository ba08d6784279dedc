"""Real first updates of PyTorch: equal metrics do not hide that parameters move otherwise."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from reprokit.features.compare.answer import FILE, Answer, Word
from reprokit.features.compare.audit import audit
from reprokit.features.compare.compare import compare_commands
from reprokit.features.compare.rounding.made_twins import RoundingAsked
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

PROGRAM = """\
import json, sys, torch
torch.set_num_threads(1)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
adam = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=float(sys.argv[2]))
with open(f"{sys.argv[1]}/log.jsonl", "w") as log:
    for step in range(6):
        given = torch.randn(64, 8)
        loss = ((model(given).squeeze(1) - given.sum(1)) ** 2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        log.write(json.dumps({"step": step, "records": step * 64, "loss_is_there": loss.item() > 0}) + "\\n")
"""


def compared(folder: Path, **eps: str) -> tuple[Answer, Path]:
    (folder / "train.py").write_text(PROGRAM)
    commands = {side: (sys.executable, "train.py", "{run_dir}", one) for side, one in eps.items()}
    session = Session(project=Project.around(folder), progress=RecordedProgress())
    return compare_commands(commands, Request(), only=None, rounding=RoundingAsked(), session=session)


@pytest.mark.parametrize(
    ("eps", "word", "finding", "made"),
    [("1e-2", Word.DIFFERENT, "different", 6), ("1.0e-8", Word.EQUAL, "equal", 2)],
)
def test_where_no_metric_differs_the_first_update_of_both_sides_decides(
    tmp_path, monkeypatch, eps, word, finding, made
):
    monkeypatch.chdir(tmp_path)
    answer, report = compared(tmp_path, a="1e-8", b=eps)
    assert (answer.answer, answer.rounding["first_update"]["finding"]) == (word, finding), answer.sentence
    assert answer.rounding["runs"]["made"] == made
    assert audit(report / FILE).findings == ()
