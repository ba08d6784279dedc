"""Claims of a trainer's recipe tried with real trainings: settings, and ranks that train together."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch")

from reprokit.core.checklist import Status
from reprokit.errors import RecipeError
from reprokit.features.init.try_claims import propose_for_recipe
from reprokit.harness import Request, reproduce
from reprokit.harness.audit import audit
from reprokit.project import Project
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

PROJECT = Path(__file__).resolve().parents[2]
RANKS = "ranks: {world_size: 1, reduction: fixed_order, shards: 4}\n"

pytestmark = pytest.mark.slow


@pytest.fixture
def session(tmp_path, monkeypatch):
    root = tmp_path / "project"
    subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(root)], check=True)
    monkeypatch.chdir(root)
    return Session(project=Project.around(root), progress=RecordedProgress())


def written(session, further: str) -> Path:
    """A short training of the digits with further keys, in a recipe of its own."""
    text = (session.project.recipes_dir / "digits_mlp" / "recipe.yaml").read_text()
    begin, end = text.index("expected:"), text.index("nondeterminism:")
    text = text[:begin] + text[end:]
    for old, new in (
        ("name: digits_mlp", "name: few"),
        ("total_timesteps: 43110", "total_timesteps: 1437"),
        ("save_interval: 10000", "save_interval: 1000"),
        ("eval_interval: 4000", "eval_interval: 700"),
    ):
        assert old in text
        text = text.replace(old, new)
    file = session.project.recipes_dir / "few" / "recipe.yaml"
    file.parent.mkdir()
    file.write_text(text + further)
    return file


def judged(session, *claims: str, further: str = "") -> dict[str, tuple[Status, str]]:
    written(session, further + f"same_under: [{', '.join(claims)}]\n")
    report, folder = reproduce("few", Request(backend="local", same_under=True), session=session)
    assert audit(folder / "report.json", project=session.project).findings == ()
    own = [row for row in report.checks if row.id.startswith("same_under/")]
    return {row.id.removeprefix("same_under/"): (row.status, row.reason) for row in own}


def test_a_setting_that_does_not_matter_passes_and_one_that_does_fails_with_its_place(session):
    found = judged(session, "{set: logging.trace_interval=48}", "{set: training.learning_rate=2e-3}")
    assert found["set logging.trace_interval=48"][0] is Status.PASSED
    status, reason = found["set training.learning_rate=2e-3"]
    assert (status, "differs from step 64 on" in reason) == (Status.FAILED, True)


def test_ranks_hold_where_their_sums_have_one_order_and_not_where_they_have_another(session):
    other = '{set: "ranks={world_size: 2, reduction: all_reduce}"}'
    found = judged(session, "{set: ranks.world_size=2}", other, further=RANKS)
    assert found["set ranks.world_size=2"][0] is Status.PASSED
    status, reason = found["set ranks={world_size: 2, reduction: all_reduce}"]
    assert (status, "differs" in reason) == (Status.FAILED, True)


def test_words_are_no_setting_of_a_trainer_and_are_refused_before_anything_runs(session):
    with pytest.raises(RecipeError, match="takes settings and no arguments"):
        judged(session, '{args: "--batch 8"}')
    assert not (session.project.runs_dir / "few").exists()


def test_init_proposes_ranks_that_hold_and_tells_why_it_tried_no_compilation(session):
    file = written(session, RANKS)
    before = file.read_text()
    proposal = propose_for_recipe("few", session=session)
    assert proposal.found["same under"] == "set ranks.world_size=2"
    assert "numerics" in proposal.found["not tried"]
    assert file.read_text() == before
    written_text = proposal.files["recipes/few/recipe.yaml"].decode()
    assert written_text == f"{before}same_under:\n  - set: [ranks.world_size=2]\n"
