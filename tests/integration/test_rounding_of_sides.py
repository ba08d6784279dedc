"""Rounding told by real twins of PyTorch: of a golden that is made again, and in a search for a commit."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from reprokit.core.checklist import Verdict
from reprokit.features.bisect.bisect import bisect
from reprokit.harness import Request, reproduce
from reprokit.harness.audit import audit
from reprokit.images.packages import digest_of
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import RECIPE, Repository
from support.recorded_progress import RecordedProgress

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

PROGRAM = """\
import json, sys
import {imports}
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[1]))
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
adam = torch.optim.AdamW(model.parameters(), lr={rate})
with open(f"{{sys.argv[2]}}/log.jsonl", "w") as log:
    for step in range(40):
        given = torch.randn(64, 8)
        loss = {mean}((model(given).squeeze(1) - given.sum(1)) ** 2)
        adam.zero_grad()
        loss.backward()
        adam.step()
        log.write(json.dumps({{"step": step, "loss": loss.item()}}) + "\\n")
"""
MEAN = "(lambda off: off.mean())"
#: The same sum in another order.
HALVES = "(lambda off: (off[1::2].sum() + off[::2].sum()) / len(off))"
RATE, OTHER_RATE = "1e-2", "1.0005e-2"


def session_of(root: Path) -> Session:
    return Session(project=Project.around(root), progress=RecordedProgress())


@pytest.fixture
def repository(small_project, monkeypatch, tmp_path):
    """A program whose environment holds ``lead``, which has its mean and its learning rate, and PyTorch."""
    for name, value in {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_CACHE_DIR": str(tmp_path / "uv")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    monkeypatch.setenv("REPROKIT_CACHE", str(small_project.cache))
    place = Path(str(importlib.util.find_spec("torch").origin)).parents[1]
    small_project.add_wheel("place", "1.0", text=f"import sys\nsys.path.append({str(place)!r})\n")
    for version, mean, rate in (("1.0", MEAN, RATE), ("2.0", HALVES, RATE), ("3.0", MEAN, OTHER_RATE)):
        small_project.add_wheel("lead", version, text=f"RATE = {rate}\nmean = {mean}\n")
    found = Repository(small_project.root)
    monkeypatch.chdir(found.root)
    found.git("init", "--quiet", "--initial-branch", "main")
    (found.root / ".gitignore").write_text("runs/\nreports/\n")
    (found.root / "settings.py").write_text("")
    program = PROGRAM.format(imports="place, torch, lead", mean="lead.mean", rate="lead.RATE")
    recipe = RECIPE.replace("variant: none", "variant: cpu")
    lock(small_project, "1.0")
    found.write(train_py=program, recipes__train__recipe_yaml=recipe)
    return found


def lock(small_project, version: str) -> None:
    wheels = {"lead": version, "place": "1.0"}
    lines = (
        f"{name}=={number} --hash={digest_of(small_project.wheels / f'{name}-{number}-py3-none-any.whl')}\n"
        for name, number in wheels.items()
    )
    small_project.lock.write_text("".join(lines))


@pytest.mark.parametrize(
    ("version", "answer", "told"),
    [
        ("2.0", "rounding", "moves the numbers as rounding does"),
        ("3.0", "different", "by more than rounding: loss from step 1 on"),
    ],
)
def test_twins_are_of_the_golden_where_its_environment_can_be_made_again(
    repository, small_project, version, answer, told
):
    request = Request(backend="local", side_by_side=False)
    report, _ = reproduce("train", request, session=session_of(repository.root))
    repository.promote(report, allow_failed=True)  # PyTorch is there, but not locked
    lock(small_project, version)
    repository.commit()
    asked = Request(backend="local", side_by_side=False, rounding=True)
    report, folder = reproduce("train", asked, session=session_of(repository.root))
    assert (report.verdict, report.exit_code) == (Verdict.STALE_GOLDEN, 4)
    found = report.rounding
    assert (found["twins_of"], found["answer"]) == ("golden", answer), found["sentence"]
    assert told in found["sentence"]
    assert "twins of the golden" in found["sentence"]
    assert audit(folder / "report.json", project=Project.around(repository.root)).findings == ()


def test_a_search_passes_over_a_commit_that_only_rounds_and_finds_the_one_that_does_more(
    tmp_path, monkeypatch
):
    repository, commits = Repository(tmp_path), []
    monkeypatch.chdir(tmp_path)
    repository.git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / ".gitignore").write_text("runs/\nreports/\n")
    recipe = RECIPE.replace("[python,", f"[{sys.executable},")
    for mean, rate in ((MEAN, RATE), (HALVES, RATE), (HALVES, OTHER_RATE)):
        program = PROGRAM.format(imports="torch", mean=mean, rate=rate)
        repository.write(train_py=program, recipes__train__recipe_yaml=recipe)
        head = ["git", "rev-parse", "HEAD"]
        commits.append(subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip())
    request = Request(backend="local", side_by_side=False)
    ends = {"good": commits[0], "bad": commits[2]}
    found = bisect("train", **ends, request=request, session=session_of(tmp_path), ignore_rounding=True)
    (guilty,) = found.guilty
    assert guilty.commit == commits[2]
    (passed,) = (one for one in found.tested if one.commit == commits[1])
    assert (passed.result, passed.detail.endswith("by rounding alone")) == ("good", True)
