"""``init --same-under``: what usually does not matter is tried, and only what held is written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reprokit import recipes
from reprokit.capture import capture_interpreter
from reprokit.errors import RecipeError
from reprokit.features.init import write_recipe as init
from reprokit.features.init.find_options import declared_options
from reprokit.features.init.try_claims import text_with
from reprokit.features.init.usual_claims import usual_claims
from reprokit.harness.running import start_runs
from reprokit.harness.running.environments import shared_places
from reprokit.project import Project
from reprokit.session import Session
from tests.support.command_recipe import RECIPE
from tests.support.recorded_progress import RecordedProgress

PROGRAM = """\
import argparse, json, random
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", default="results")
parser.add_argument("--num-workers", type=int, default=0)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--compile", action="store_true")
options = parser.parse_args()
random.seed(options.seed)
if options.compile:
    raise SystemExit("there is no compiler")
with open(f"{options.out}/log.jsonl", "w") as log:
    for step in range(4):
        loss = random.random() * options.batch_size * options.accumulate
        log.write(json.dumps({"step": step, "loss": loss}) + "\\n")
"""
HOLD = ["args --num-workers 2", "args --batch-size 2 --accumulate 2", "threads 2"]
FAIL = ["args --compile", "args --accumulate 2"]


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    inside = {**capture_interpreter(["python"]), "device": {"kind": "cpu"}}
    monkeypatch.setattr(start_runs, "inside_of", lambda spec, *, backend: dict(inside))
    monkeypatch.setattr(shared_places, "_memory_since", lambda _since: ())
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / "train.py").write_text(PROGRAM)
    subprocess.run(["git", "add", "--all"], cwd=tmp_path, check=True)
    return tmp_path


def propose(root, *words, name=None, same_under=True):
    session = Session(project=Project.around(root), progress=RecordedProgress())
    return init.propose(words, name=name, same_under=same_under, session=session)


def claims(root) -> list[str]:
    recipe = recipes.load("train", recipes_dir=root / "recipes")
    return [
        f"args {one['args']}" if one["args"] else f"threads {one['threads']}" for one in recipe.same_under
    ]


def test_what_held_is_written_and_what_did_not_is_told_with_its_reason(theirs):
    proposal = propose(theirs, "python", "train.py")
    init.write(proposal, project=Project.around(theirs))
    assert claims(theirs) == HOLD
    for claim in FAIL:
        assert claim in proposal.found["not same"]
    assert "there is no compiler" in proposal.found["not same"]
    assert proposal.next_commands[-1] == "reprokit verify train --same-under"


def test_a_recipe_that_is_there_gets_what_holds_beside_what_it_says(theirs):
    init.write(propose(theirs, "python", "train.py", same_under=False), project=Project.around(theirs))
    file = theirs / "recipes" / "train" / "recipe.yaml"
    assert claims(theirs) == []
    before = file.read_text() + "same_under:\n- threads: 2\n\nlimits: {memory_gib: 2}\n"
    file.write_text(before)
    proposal = propose(theirs, name="train")
    assert file.read_text() == before
    init.write(proposal, project=Project.around(theirs))
    assert claims(theirs) == ["threads 2", *HOLD[:2]]
    assert file.read_text().endswith("\n\nlimits: {memory_gib: 2}\n")


def test_of_a_program_that_does_not_repeat_nothing_is_written(theirs):
    init.write(propose(theirs, "python", "train.py", same_under=False), project=Project.around(theirs))
    program = PROGRAM.replace("random.seed(options.seed)", "")
    (theirs / "train.py").write_text(program)
    proposal = propose(theirs, name="train")
    assert proposal.files == {}
    assert "differ" in proposal.found["not same"]


def test_claims_in_brackets_are_left_as_they_are():
    with pytest.raises(RecipeError, match="a line of its own"):
        text_with("same_under: [{threads: 2}]\n", [{"threads": 4}], file=Path("recipe.yaml"))


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ('import click\n@click.option("--workers", default=2)\ndef main(workers): ...', "args --workers 1"),
        ("import fire\ndef main(*, num_workers=3, compile=False): ...", "args --num_workers 2"),
        ("import tyro\nclass Args:\n    torch_compile: bool = False", "args --torch-compile"),
        ('from absl import flags\nflags.DEFINE_integer("num_threads", 2, "")', "args --num_threads 1"),
    ],
)
def test_options_of_every_kind_are_known_with_their_defaults(tmp_path, declaration, expected):
    folder = tmp_path / "recipes" / "train"
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text(RECIPE)
    recipe = recipes.load("train", recipes_dir=tmp_path / "recipes")
    found = [f"args {one['args']}" for one in usual_claims(recipe, source=declaration) if "args" in one]
    assert expected in found
    assert len(declared_options(declaration)) >= len(found)


def test_a_trainer_has_its_settings_tried_as_far_as_it_has_them():
    recipes_dir = Path(__file__).resolve().parents[4] / "recipes"
    recipe = recipes.load("char_gpt", recipes_dir=recipes_dir)
    found = [one.get("set", one) for one in usual_claims(recipe, source="")]
    assert found == [["training.gradient_accumulation_steps=4"], ["training.compile=default"], {"threads": 2}]
    ranked = recipes.load("char_gpt", recipes_dir=recipes_dir, overrides=("ranks={world_size: 2}",))
    found = [one.get("set", one) for one in usual_claims(ranked, source="")]
    assert found[-1] == ["ranks.world_size=1"]
