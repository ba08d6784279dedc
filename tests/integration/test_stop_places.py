"""`verify --stop-at`: a program that is killed at every kind of place for real, and resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.core.checklist import Verdict
from reprokit.errors import UsageError
from reprokit.harness import Project, audit
from support.command_recipe import Repository

RECIPE = """\
schema: 1
name: train
title: A program that no one here wrote
variant: none
command: [python, train.py, "{run_dir}", "{seed}", FORM]
resume: {resume_args: [--resume, "{stopped_run_dir}/checkpoint_*.pkl"]}
seeds: [3]
platforms: [cpu-x86_64]
"""
#: By its name a booster, so that a round of it is an update.
BOOSTER = """\
class Booster:
    value = 1.0

    def update(self, by):
        self.value -= self.value * by / 10
"""
PROGRAM = """\
import json, pickle, random, sys
from pathlib import Path
from lightgbm.basic import Booster

folder, seed, form = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
random.seed(seed)
booster, step = Booster(), 0
if "--resume" in sys.argv:
    with open(sys.argv[-1], "rb") as file:
        step, booster.value, state = pickle.load(file)
    if form != "forgets":
        random.setstate(state)
with open(folder / "log.jsonl", "w", buffering=1) as log:
    while step < 5:
        booster.update(random.random())
        step += 1
        log.write(json.dumps({"step": step, "loss": booster.value}) + "\\n")
        if step % 2 == 0:
            final = folder / f"checkpoint_{step}.pkl"
            written = final if form == "torn" else folder / "written"
            with open(written, "wb") as file:
                pickle.dump((step, booster.value, random.getstate()), file)
            written.rename(final)
"""


@pytest.fixture
def program(tmp_path):
    def make(form: str) -> Repository:
        made = Repository(tmp_path / "theirs")
        made.root.mkdir()
        made.git("init", "--quiet")
        (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
        files = {"train_py": PROGRAM, "lightgbm____init___py": "", "lightgbm__basic_py": BOOSTER}
        (made.root / "lightgbm").mkdir()
        (made.root / "lightgbm/__init__.py").write_text("")
        files.pop("lightgbm____init___py")
        made.write(**files, recipes__train__recipe_yaml=RECIPE.replace("FORM", form))
        return made

    return make


def row_of(report):
    return next(one for one in report.checks if one.id == "resume_equal")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_program_that_resumes_is_equal_at_every_kind_of_place(program, monkeypatch):
    made = program("clean")
    report, folder = made.reproduced(resume=True, stop_at="every")
    places = row_of(report).evidence["places"]
    assert [one["reason"] for one in places if one["status"] != "PASSED"] == []
    assert row_of(report).status == "PASSED"
    told = " ".join(one["place"] for one in places)
    for kind in ("after update 5", "before checkpoint 2", "while checkpoint 2", "right after checkpoint 2"):
        assert kind in told
    assert "--stop-at every" in report.rerun
    monkeypatch.chdir(made.root)
    assert audit(folder / "report.json", project=Project.around(made.root)).findings == ()


@pytest.mark.timeout(300)
def test_what_is_lost_fails_the_place_and_the_report(program):
    made = program("forgets")
    made.promote(made.reproduce(), allow_failed=True)
    report = made.reproduce(resume=True, stop_at="3,4")
    assert (report.verdict, report.exit_code) == (Verdict.CHECK_FAILED, 1)
    assert [one["status"] for one in row_of(report).evidence["places"]] == ["FAILED", "FAILED"]
    told = "2 of 2 places differ from the uninterrupted run (after update 3; after update 4); killed after"
    assert row_of(report).reason.startswith(told)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_checkpoint_that_is_cut_short_is_red_at_that_place_alone(program):
    places = row_of(program("torn").reproduce(resume=True, stop_at="every")).evidence["places"]
    assert [one["place"] for one in places if one["status"] == "FAILED"] == [
        "before checkpoint 2 was written, after update 4",  # its file is there, and empty
        "while checkpoint 2 was being written, after update 4",
    ]


@pytest.mark.timeout(300)
@pytest.mark.slow
def test_a_place_before_the_first_checkpoint_cannot_be_judged(program):
    made = program("clean")
    made.promote(made.reproduce(), allow_failed=True)
    report = made.reproduce(resume=True, stop_at="1,3")
    assert [one["status"] for one in row_of(report).evidence["places"]] == ["ERROR", "PASSED"]
    assert "nothing to resume from" in row_of(report).reason
    assert (report.verdict, report.exit_code) == (Verdict.UNJUDGED, 4)
    with pytest.raises(UsageError, match="update 6") as refused:
        made.reproduce(resume=True, stop_at="3,6")
    assert refused.value.exit_code == 2


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_loop_that_forgets_how_many_updates_it_made_is_red_and_its_counters_are_named(program):
    pytest.importorskip("torch")
    made = program("clean")
    loop = Path(__file__).parents[1] / "planted/places/torch_loop.py"
    recipe = RECIPE.replace('"{seed}", FORM', "--forget, counter").replace(".pkl", ".pt")
    made.write(train_py=loop.read_text(), recipes__train__recipe_yaml=recipe)
    place, other = row_of(made.reproduce(resume=True, stop_at="7,10")).evidence["places"]
    assert [place["status"], other["status"]] == ["FAILED", "FAILED"], place["reason"]
    assert place["lost"] == other["lost"] == ["counters"]
    assert "the state of update 7 of the uninterrupted run" in place["reason"]
