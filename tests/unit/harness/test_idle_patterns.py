"""A pattern that matches no metric leaves nothing out: an error in an option, a warning in a recipe."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reprokit.cli import main
from reprokit.harness import Request, reproduce
from reprokit.project import Project
from reprokit.session import Session
from support.command_recipe import PROGRAM, RECIPE
from support.recorded_progress import RecordedProgress

COMMAND = ("python", "train.py", "{seed}", "{run_dir}")


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as raised:
        main(list(words))
    return int(raised.value.code or 0)


@pytest.fixture
def here(repository, monkeypatch):
    monkeypatch.chdir(repository.root)
    return repository


@pytest.fixture
def two_runs(here):
    """Two finished runs of a plain command."""
    assert ended("reproduce", "--", *COMMAND) == 0
    return sorted(map(str, (here.root / "runs" / "plain-train").iterdir()))


@pytest.mark.parametrize("pattern", ["los", "train/loss", "LOSS", "log.csv:loss", "time/*"])
def test_a_plain_command_is_told_after_its_first_run(here, capsys, pattern):
    assert ended("reproduce", "--ignore-metric", pattern, "--", *COMMAND) == 2
    told = capsys.readouterr().err
    assert f"no metric matches '{pattern}'" in told
    assert re.search(r"the nearest names: .*'loss'", told)
    assert len(list((here.root / "runs" / "plain-train").iterdir())) == 1


@pytest.mark.parametrize("pattern", ["loss", "l*", "*", "log.jsonl:loss", "*.jsonl:l*", "step"])
def test_a_pattern_that_fits_is_no_mistake(two_runs, capsys, pattern):
    code = ended("diff", *two_runs, "--ignore-metric", pattern)
    assert "no metric matches" not in capsys.readouterr().err
    assert code == (0 if pattern == "step" else 2)  # without its only metric nothing can be compared


def test_one_that_fits_does_not_excuse_another(here, capsys):
    options = ("--ignore-metric", "loss", "--ignore-metric", "fps")
    assert ended("reproduce", *options, "--", *COMMAND) == 2
    assert "no metric matches 'fps'" in capsys.readouterr().err


def test_a_program_that_logs_nothing_is_told_that(here, capsys):
    here.write(train_py="print('nothing')\n")
    assert ended("reproduce", "--ignore-metric", "loss", "--", *COMMAND) == 4
    assert "no metric matches" not in capsys.readouterr().err


def test_against_a_golden_too(here, capsys):
    (here.root / "golden").mkdir()
    assert ended("reproduce", "--golden", "golden", "--ignore-metric", "lss", "--", *COMMAND) == 2
    assert "the nearest names: 'loss'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "verb", [("diff",), ("report", "show"), ("diagnose", "--across")], ids=["diff", "report", "diagnose"]
)
def test_every_verb_that_compares_runs_tells_it(two_runs, capsys, verb):
    assert ended(*verb, *two_runs, "--ignore-metric", "lss") == 2
    assert "no metric matches 'lss'" in capsys.readouterr().err


def test_diagnose_tells_it_after_its_first_run(here, capsys):
    assert ended("diagnose", "--ignore-metric", "lss", "--", *COMMAND) == 2
    assert "no metric matches 'lss'" in capsys.readouterr().err


def test_runs_of_a_recipe_take_no_such_option(here, capsys):
    runs = here.reproduce().runs
    assert ended("report", "show", *runs, "--ignore-metric", "loss") == 2
    assert "under `volatile`" in capsys.readouterr().err


def test_metrics_to_compare_and_to_describe_have_the_nearest_names(two_runs, capsys):
    assert ended("diff", *two_runs, "--metric", "lss") == 2
    assert "the nearest: 'loss'" in capsys.readouterr().out
    assert ended("stats", "plain-train", "--metric", "loss", "--metric", "lss") == 2
    told = capsys.readouterr().err
    assert "no metric matches 'lss'" in told
    assert "the nearest names: 'loss'" in told


def test_a_name_with_brackets_is_told_as_a_pattern_that_fits_it(here, capsys):
    """As they are, brackets are a choice of letters, and the nearest name was the one that was typed."""
    here.write(train_py=PROGRAM.replace('"loss": value', '"loss": value, "time [s]": 3.0'))
    assert ended("reproduce", "--ignore-metric", "time [s]", "--", *COMMAND) == 2
    told = capsys.readouterr().err
    assert "the nearest names: 'time [[]s]'" in told
    assert ended("reproduce", "--ignore-metric", "time [[]s]", "--", *COMMAND) == 0
    volatile = "volatile: [{metric: 'time [s]', because: the clock}]\n"
    here.write(recipes__train__recipe_yaml=RECIPE + volatile)
    rows = {row.id: row for row in here.reproduce().checks}
    assert "'time [[]s]'" in rows["volatile_metric/time [s]"].remedy


def test_a_recipe_warns_with_its_line_and_has_a_row(here):
    noisy = PROGRAM.replace('"loss": value', '"loss": value, "time/fps": 3.0')
    here.write(train_py=noisy)
    more = "volatile: [{metric: 'tiem/*', because: the clock}, {metric: 'time/*', because: it too}]\n"
    here.write(recipes__train__recipe_yaml=RECIPE + more)
    progress = RecordedProgress()
    request = Request(backend="local", side_by_side=False)
    report, folder = reproduce(
        "train", request, session=Session(project=Project.around(here.root), progress=progress)
    )
    told = [note for note in progress.notes if note.startswith("warning: ")]
    assert len(told) == 1
    assert "recipes/train/recipe.yaml:8: `volatile` has 'tiem/*'" in told[0]
    assert "the nearest names: 'time/fps'" in told[0]
    rows = {row.id: row for row in report.checks}
    assert "matches no metric" in rows["volatile_metric/tiem/*"].reason
    assert "volatile_metric/time/*" not in rows
    assert ended("report", "verify", str(folder)) == 4  # genuine, with its verdict: NO_GOLDEN


def test_a_recipe_without_mistakes_warns_of_nothing(here):
    noisy = PROGRAM.replace('"loss": value', '"loss": value, "time/fps": 3.0')
    more = "volatile: [{metric: 'time/*', because: it}, {metric: time/fps, because: the same once more}]\n"
    here.write(train_py=noisy, recipes__train__recipe_yaml=RECIPE + more)
    record = json.loads((Path(here.reproduce().runs[0]) / "run.json").read_text())
    assert "volatile_idle" not in record


PRINTS = PROGRAM + "print('epoch 3 acc 0.75')\n"
FITS, FITS_NOTHING = r"epoch (?P<step>\d+) acc (?P<acc>\S+)", r"eval: (?P<eval>\S+)"


def test_a_pattern_of_what_is_printed_that_fits_no_line_is_a_warning_and_a_row(here):
    more = f"printed: ['{FITS}', '{FITS_NOTHING}', 'acc=(?P<acc>x)']\n"
    here.write(train_py=PRINTS, recipes__train__recipe_yaml=RECIPE + more)
    progress = RecordedProgress()
    request = Request(backend="local", side_by_side=False)
    report, folder = reproduce(
        "train", request, session=Session(project=Project.around(here.root), progress=progress)
    )
    (told,) = (note for note in progress.notes if note.startswith("warning: "))
    assert f"recipes/train/recipe.yaml:8: `printed` has {FITS_NOTHING!r}, which matches no line" in told
    rows = [row for row in report.checks if row.id.startswith("printed_pattern/")]
    assert [row.evidence["pattern"] for row in rows] == [FITS_NOTHING]
    assert ended("report", "verify", str(folder)) == 4


def test_where_none_fits_a_line_nothing_is_judged_by_another_log_alone(here):
    more = f"printed: ['{FITS_NOTHING}']\n"
    here.write(train_py=PRINTS, recipes__train__recipe_yaml=RECIPE + more)
    report = here.reproduce()
    assert report.verdict == "UNJUDGED"
    assert "no printed line matches a pattern under `printed`" in report.sentence
