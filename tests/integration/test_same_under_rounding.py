"""Accumulation that must be the same but for rounding: normalised rightly, and wrongly."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("torch")

from reprokit.core.checklist import Status
from reprokit.harness import Request, reproduce
from reprokit.harness.audit import audit
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import RECIPE, Repository
from support.recorded_progress import RecordedProgress

pytestmark = pytest.mark.slow

PROGRAM = """\
import argparse, json, torch
parser = argparse.ArgumentParser()
parser.add_argument("seed", type=int)
parser.add_argument("out")
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--mean-of-means", action="store_true")
asked = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(asked.seed)
layers = torch.nn.Embedding(16, 12), torch.nn.Linear(12, 24), torch.nn.Tanh(), torch.nn.Linear(24, 16)
model = torch.nn.Sequential(*layers)
adam = torch.optim.AdamW(model.parameters(), lr=3e-3)
tokens = torch.randint(0, 16, (40, 8, 12))
targets = (tokens * 5 + 3) % 16
targets[torch.rand(targets.shape) < 0.4] = -100
with open(f"{asked.out}/log.jsonl", "w") as log:
    for step, (given, wanted) in enumerate(zip(tokens, targets)):
        adam.zero_grad()
        whole, parts = (wanted != -100).sum(), asked.accumulate
        total = 0.0
        for one, other in zip(given.chunk(parts), wanted.chunk(parts)):
            lost = torch.nn.functional.cross_entropy(
                model(one).flatten(0, 1), other.flatten(), ignore_index=-100, reduction="sum"
            )
            share = (other != -100).sum() * parts if asked.mean_of_means else whole
            (lost / share).backward()
            total += (lost / share).item()
        adam.step()
        log.write(json.dumps({"step": step, "loss": total}) + "\\n")
"""
RIGHT, WRONG = "--accumulate 4", "--accumulate 4 --mean-of-means"


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    repository = Repository(root)
    repository.git("init", "--quiet", "--initial-branch", "main")
    (root / ".gitignore").write_text("runs/\nreports/\n")
    recipe = RECIPE.replace("[python,", f"[{sys.executable},")
    claims = ", ".join(f'{{args: "{one}", as: rounding}}' for one in (RIGHT, WRONG))
    repository.write(train_py=PROGRAM, recipes__train__recipe_yaml=f"{recipe}same_under: [{claims}]\n")
    request = Request(backend="local", side_by_side=False, same_under=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        session = Session(project=Project.around(root), progress=RecordedProgress())
        report, folder = reproduce("train", request, session=session)
    own = [row for row in report.checks if row.id.startswith("same_under/args ")]
    return {row.id.removeprefix("same_under/args "): row for row in own}, folder, root


def test_parts_that_are_summed_over_all_tokens_are_rounding(judged):
    rows, _, _ = judged
    assert rows[RIGHT].status is Status.PASSED
    assert "the numbers move as rounding does" in rows[RIGHT].reason


def test_a_mean_of_the_means_of_uneven_parts_is_more_than_rounding(judged):
    rows, _, _ = judged
    assert rows[WRONG].status is Status.FAILED
    assert "by more than rounding: loss from step 0 on" in rows[WRONG].reason


def test_the_report_stands_from_its_run_folders(judged):
    _, folder, root = judged
    assert audit(folder / "report.json", project=Project.around(root)).findings == ()
