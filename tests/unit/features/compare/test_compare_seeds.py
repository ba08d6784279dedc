"""Two sides of a recipe compared by results over seeds: real programs, whose bits never repeat."""

from __future__ import annotations

import json

import pytest

from reprokit import recipes
from reprokit.errors import UsageError
from reprokit.features.compare.answer import FILE, Word
from reprokit.features.compare.asked import sides_asked
from reprokit.features.compare.audit import audit
from reprokit.features.compare.compare import compare_recipe
from reprokit.features.compare.side_runs import ReadySide, settings_told
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress
from support.statistical_project import CEILING, NOISIER, PROGRAM, RECIPE, SETTINGS, WORSE, StatisticalProject

#: A recipe that does not say what is compared over seeds.
SILENT = "".join(line for line in RECIPE.splitlines(keepends=True) if "statistical" not in line)
#: Other bits in each run.
DRIFTING = SETTINGS.replace("def level", "import os\ndef level").replace(
    "generator.gauss(100.0, 1.0)", "generator.gauss(100.0, 1.0) + int.from_bytes(os.urandom(4)) / 2**40"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    found = StatisticalProject(tmp_path / "p").begin(settings=DRIFTING)
    monkeypatch.chdir(found.root)
    return found


def compared(project, num_seeds: int, *, overrides: tuple[str, ...] = ()):
    session = Session(project=project.project, progress=RecordedProgress())
    request = Request(backend="local", overrides=overrides)
    asked = sides_asked({"a": "HEAD~1", "b": "HEAD"})
    return compare_recipe("train", asked, request, only=None, share=(), num_seeds=num_seeds, session=session)


@pytest.mark.slow
def test_a_program_that_never_repeats_has_no_difference_at_the_margin(project):
    project.write(settings_py=DRIFTING.replace("0.1", "0.11"))
    answer, report = compared(project, 8)
    assert (answer.answer, answer.exit_code) == (Word.EQUAL, 0)
    assert "not bits" in answer.sentence
    assert "<h2>Results over seeds</h2>" in (report / "report.html").read_text()
    found = audit(report / FILE)
    assert (found.follows, found.exit_code) == (True, 0)
    data = json.loads((report / FILE).read_text())
    data["answer"]["statistical"]["margins"]["return"] = 50.0
    (report / FILE).write_text(json.dumps(data))
    assert audit(report / FILE).exit_code == 1


def test_a_drop_is_different_with_direction_and_size(project):
    project.write(settings_py=WORSE)
    answer, _ = compared(project, 5)
    assert (answer.answer, answer.exit_code) == (Word.DIFFERENT, 1)
    assert "return is worse" in answer.sentence
    assert " seeds of b, " in answer.sentence
    assert " than the 5 seeds of a by " in answer.sentence


def test_equal_results_of_a_shorter_training_are_no_evidence_of_an_equal_one(project):
    project.write(train_py=PROGRAM.replace("range(6)", "range(5)"))
    answer, report = compared(project, 8)
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)
    assert "of b logged 5 records, side a 6" in answer.sentence
    assert audit(report / FILE).follows


@pytest.mark.slow
def test_too_few_seeds_are_unjudged_and_more_are_named(project):
    project.write(settings_py=NOISIER)
    answer, _ = compared(project, 3)
    assert (answer.answer, answer.exit_code) == (Word.UNJUDGED, 4)
    assert answer.hint.startswith("--seeds ")


@pytest.mark.slow
def test_the_margin_is_that_of_side_a(project):
    wider = RECIPE.replace("margin: 2.0", "margin: 1000.0")
    project.write(settings_py=WORSE, recipes__train__recipe_yaml=wider)
    answer, _ = compared(project, 5)
    assert answer.answer is Word.DIFFERENT
    assert answer.statistical["margins"] == {"return": 2.0}


@pytest.mark.slow
def test_a_side_whose_seeds_are_one_result_is_no_evidence(project):
    project.write(settings_py=CEILING)
    answer, _ = compared(project, 5)
    assert (answer.answer, "side b is no evidence" in answer.sentence) == (Word.UNJUDGED, True)


def test_a_recipe_that_does_not_say_what_is_compared_is_refused(project):
    project.write(recipes__train__recipe_yaml=SILENT, settings_py=NOISIER)
    with pytest.raises(UsageError, match="side b does not say what is compared"):
        compared(project, 5)
    assert not (project.root / "runs" / "train").exists()


@pytest.mark.slow
def test_earlier_runs_are_judged_by_the_recipe_of_the_side_that_was_asked_for(project, monkeypatch):
    monkeypatch.setattr(ReadySide, "has_all_inputs", True)  # as those of a trainer, or in a container
    project.write(recipes__train__recipe_yaml=SILENT)
    earlier = project.sweep("5").runs()
    project.write(recipes__train__recipe_yaml=RECIPE)
    project.write(settings_py=WORSE)
    answer, report = compared(project, 5)
    assert (answer.answer, answer.statistical["margins"]) == (Word.DIFFERENT, {"return": 2.0})
    assert set(answer.sides["a"].runs) == earlier
    assert audit(report / FILE).exit_code == 1
    data = json.loads((report / FILE).read_text())
    data["asked"]["statistical"][0]["margin"] = 50.0
    (report / FILE).write_text(json.dumps(data))
    assert not audit(report / FILE).follows


@pytest.mark.slow
def test_only_runs_with_the_same_overrides_are_taken(project):
    project.write(settings_py=WORSE)
    compared(project, 3, overrides=("title=Another",))
    answer, _ = compared(project, 5)
    assert (answer.answer, len(project.runs())) == (Word.DIFFERENT, 2 * 3 + 2 * 5)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ((), ""),
        (("env.A=1",), "A=1"),
        (('command=["python", "train.py", "{seed}", "{run_dir}", "--lr", "0.2"]',), "lr=0.2"),
    ],
)
def test_what_a_side_sets_is_called_as_in_a_sweep(project, asked, told):
    recipe = recipes.load("train", recipes_dir=project.root / "recipes", overrides=asked)
    assert settings_told(recipe) == told
