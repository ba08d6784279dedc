"""An unmodified program as a recipe, from its files to a verdict: in this Python, so that it is quick."""

from __future__ import annotations

import json
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from reprokit.errors import RecipeError, UsageError
from reprokit.harness import Request, audit, judge_again, reproduce
from reprokit.harness.running.programs.program_files import program_files
from reprokit.harness.running.varying.apply_variations import usable_cores
from reprokit.project import Project
from reprokit.recipes import load
from reprokit.session import Session
from support.command_recipe import PROGRAM, RECIPE
from support.recorded_progress import RecordedProgress


def rows(report):
    return {row.id: row for row in report.checks}


def test_it_has_a_golden_that_it_reproduces(repository):
    first = repository.reproduce()
    assert first.verdict == "NO_GOLDEN"
    repository.promote(first)
    again = repository.reproduce()
    assert (again.verdict, again.exit_code) == ("REPRODUCED", 0)


@pytest.mark.parametrize("asked", [{}, {"seed": 3}, {"seed": 3, "gate": True}], ids=["", "seed", "gate"])
def test_a_report_of_a_regression_stands_however_it_was_asked_for(repository, asked):
    repository.promote(repository.reproduce())
    repository.write(settings_py="RATE = 0.2\n")
    report, folder = repository.reproduced(**asked)
    assert report.verdict == "REGRESSION"
    found = audit(folder / "report.json", project=Project.around(repository.root))
    assert (found.follows, found.findings) == (True, ())


def test_one_changed_setting_is_a_regression_that_names_file_and_line(repository):
    repository.promote(repository.reproduce())
    repository.write(settings_py="# the step size\nRATE = 0.2\n")
    report = repository.reproduce()
    assert report.verdict == "REGRESSION"
    assert "settings.py:1 'RATE = 0.1' → '# the step size RATE = 0.2'" in report.sentence


def test_one_changed_word_of_the_command_is_named_with_the_recipes_line(repository):
    repository.promote(repository.reproduce())
    repository.write(recipes__train__recipe_yaml=RECIPE.replace('"{seed}"', '"7"'))
    report = repository.reproduce()
    assert report.verdict == "REGRESSION"
    assert "recipes/train/recipe.yaml:5" in report.sentence


def test_a_program_without_a_seed_call_is_nondeterministic(repository):
    repository.write(train_py=PROGRAM.replace("random.seed(int(sys.argv[1]))\n", ""))
    assert repository.reproduce().verdict == "NONDETERMINISTIC"


@pytest.mark.skipif(len(usable_cores()) < 2, reason="needs two cores")
def test_runs_side_by_side_do_not_begin_in_one_second(repository):
    """A seed that is taken from a clock in seconds would be the same in both."""
    report, _ = reproduce(
        "train",
        Request(backend="local"),
        session=Session(project=Project.around(repository.root), progress=RecordedProgress()),
    )
    first, second = (
        datetime.fromisoformat(json.loads(Path(run, "run.json").read_text())["started_at"])
        for run in report.runs
    )
    assert abs((second - first).total_seconds()) > 0.9


def test_what_the_program_does_not_see_is_no_cause(repository):
    repository.promote(repository.reproduce())
    repository.write(docs__notes="new", recipes__other__recipe_yaml=RECIPE.replace("train", "other"))
    report = repository.reproduce()
    assert report.verdict == "REPRODUCED"
    record = json.loads((Path(report.runs[0]) / "run.json").read_text())
    assert set(record["program"]["files"]) == {".gitignore", "settings.py", "train.py"}


def test_a_file_that_git_does_not_track_is_not_seen(repository):
    (repository.root / "settings.py").unlink()
    repository.commit()
    (repository.root / "settings.py").write_text("RATE = 0.1\n")
    report = repository.reproduce()
    assert report.verdict == "NOT_RUN"
    assert "settings" in report.not_run["log_tail"]
    assert "git does not track settings.py, so the program does not see it" in report.not_run["message"]
    assert report.next_command == "git add settings.py"


def test_a_volatile_metric_is_left_out_and_told(repository):
    noisy = PROGRAM.replace('"loss": value', '"loss": value, "seconds": __import__("time").time()')
    repository.write(train_py=noisy)
    assert repository.reproduce().verdict == "NONDETERMINISTIC"
    more = "volatile: [{metric: sec*, because: the clock}]\n"
    repository.write(recipes__train__recipe_yaml=RECIPE + more)
    report = repository.reproduce()
    assert report.verdict == "NO_GOLDEN"
    assert rows(report)["volatile_metric/seconds"].reason == "volatile, as the recipe says: the clock"


def test_a_recipe_that_leaves_every_metric_out_proves_nothing(repository):
    more = "volatile: [{metric: '*', because: I like green}]\n"
    repository.write(recipes__train__recipe_yaml=RECIPE + more)
    report = repository.reproduce()
    assert report.verdict == "UNJUDGED"
    assert "every metric is left out" in report.sentence


def test_results_at_a_fixed_place_are_collected(repository):
    fixed = PROGRAM.replace('f"{sys.argv[2]}/log.jsonl"', '"results/log.jsonl"')
    repository.write(train_py="import os; os.makedirs('results', exist_ok=True)\n" + fixed)
    report = repository.reproduce()
    assert report.verdict == "NOT_RUN"
    assert "collect: [results/]" in report.not_run["remedy"]
    repository.write(recipes__train__recipe_yaml=RECIPE + "collect: [results/]\n")
    report = repository.reproduce()
    assert report.verdict == "NO_GOLDEN"
    assert (Path(report.runs[0]) / "output" / "results" / "log.jsonl").is_file()
    assert not (Path(report.runs[0]) / "output" / ".work").exists()


def test_results_that_were_there_before_are_no_results_of_the_run(repository):
    silent = "print('nothing')\n"
    repository.write(train_py=silent, results__log_jsonl="")
    (repository.root / "results").mkdir(exist_ok=True)
    (repository.root / "results" / "log.jsonl").write_text('{"step": 0, "loss": 1.0}\n')
    repository.write(recipes__train__recipe_yaml=RECIPE + "collect: [results/]\n")
    report = repository.reproduce()
    assert report.verdict == "UNJUDGED"
    assert "no metrics: results/log.jsonl, results/log_jsonl are as before the run" in report.sentence


@pytest.mark.slow
def test_a_tracked_result_that_is_written_again_with_equal_content_is_judged(repository):
    fixed = PROGRAM.replace('f"{sys.argv[2]}/log.jsonl"', '"log.jsonl"')
    repository.write(train_py=fixed)
    repository.write(recipes__train__recipe_yaml=RECIPE + "collect: [log.jsonl]\n")
    repository.promote(first := repository.reproduce())
    shutil.copyfile(Path(first.runs[0], "output", "log.jsonl"), repository.root / "log.jsonl")
    repository.commit()
    assert repository.reproduce().verdict == "REPRODUCED"
    (repository.root / "train.py").write_text(fixed.replace('"loss": value', '"loss": 2 * value'))
    (repository.root / "log.jsonl").unlink()
    changed = repository.reproduce()
    assert changed.verdict == "REGRESSION"
    shutil.copyfile(Path(changed.runs[0], "output", "log.jsonl"), repository.root / "log.jsonl")
    assert repository.reproduce().verdict == "REGRESSION"


def test_numbers_that_are_only_printed_are_metrics(repository):
    repository.write(train_py="print('iter 1: loss 0.25')\nprint('iter 2: loss 0.125')\n")
    more = "printed: ['iter (?P<step>\\d+): loss (?P<loss>\\S+)']\n"
    repository.write(recipes__train__recipe_yaml=RECIPE + more)
    report = repository.reproduce()
    metrics = (Path(report.runs[0]) / "metrics.jsonl").read_text()
    assert metrics == '{"step": 1, "loss": 0.25}\n{"step": 2, "loss": 0.125}\n'


def test_declared_output_files_are_compared(repository):
    leaves = "import pathlib, random; random.seed(0)\n" + PROGRAM
    leaves += "pathlib.Path(sys.argv[2], 'model.bin').write_bytes(random.SystemRandom().randbytes(8))\n"
    repository.write(train_py=leaves)
    assert repository.reproduce().verdict == "NO_GOLDEN"
    repository.write(recipes__train__recipe_yaml=RECIPE + "outputs: ['*.bin']\n")
    report = repository.reproduce()
    assert report.verdict == "NONDETERMINISTIC"
    assert report.divergence.metric == "output/model.bin"


def test_a_declared_output_that_is_not_there_is_told(repository):
    repository.write(recipes__train__recipe_yaml=RECIPE + "outputs: ['*.pt']\n")
    report = repository.reproduce()
    assert report.verdict == "UNJUDGED"
    assert "the program left no file *.pt" in report.sentence


def test_a_misspelt_placeholder_is_refused_before_anything_runs(repository):
    repository.write(recipes__train__recipe_yaml=RECIPE.replace("{run_dir}", "{rundir}"))
    with pytest.raises(UsageError, match=r"\{rundir\} is not a placeholder.*write \{run_dir\}"):
        repository.reproduce()


def test_a_link_out_of_the_project_is_refused(repository):
    (repository.root / "secrets.txt").symlink_to("/etc/hostname")
    repository.commit()
    with pytest.raises(RecipeError, match="a link that leads out of the project"):
        repository.reproduce()


def test_without_git_nobody_knows_which_files_are_the_programs(tmp_path):
    (tmp_path / "recipes" / "train").mkdir(parents=True)
    (tmp_path / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
    recipe = load("train", recipes_dir=tmp_path / "recipes")
    with pytest.raises(UsageError, match="in no git repository"):
        program_files(recipe, tmp_path)


LOSES = """\
import json, random, sys
random.seed(int(sys.argv[1]))
words = sys.argv[3:]
losses = [round(random.random(), 6) for _ in range(4)]
if "--stop" in words:
    kept = losses[:2]
elif "--from" in words:
    kept = LATER
else:
    kept = losses
first = 2 if "--from" in words else 0
with open(f"{sys.argv[2]}/log.jsonl", "w") as log:
    for step, loss in enumerate(kept, start=first):
        log.write(json.dumps({"step": step, "loss": loss}) + "\\n")
"""
RESUME = 'resume: {stop_args: [--stop], resume_args: [--from, "{stopped_run_dir}/log.jsonl"]}\n'


@pytest.fixture
def resumable(repository):
    recipe = RECIPE + RESUME
    repository.write(train_py=LOSES.replace("LATER", "losses[2:]"), recipes__train__recipe_yaml=recipe)
    return repository


def test_a_recipe_that_says_how_it_is_resumed_is_resumed(resumable):
    resumable.promote(resumable.reproduce())
    report = resumable.reproduce()
    row = rows(report)["resume_equal"]
    assert (report.verdict, str(row.status), row.required) == ("REPRODUCED", "PASSED", True)


@pytest.mark.slow
def test_a_recipe_that_says_how_and_loses_something_is_not_reproduced(resumable):
    resumable.promote(resumable.reproduce())
    resumable.write(train_py=LOSES.replace("LATER", "losses[:2]"))
    report = resumable.reproduce()
    assert (report.verdict, report.exit_code) == ("CHECK_FAILED", 1)
    assert "resume_equal" in report.sentence


@pytest.mark.skipif(len(usable_cores()) < 2, reason="runs side by side have a core each, which takes two")
def test_a_resumed_run_has_as_many_cores_as_the_one_that_it_is_compared_with(resumable):
    of_cores = LOSES.replace("import json", "import json, os").replace(
        "round(random.random(), 6)", "random.random() * len(os.sched_getaffinity(0))"
    )
    resumable.write(train_py=of_cores.replace("LATER", "losses[2:]"))
    report, _ = reproduce(
        "train",
        Request(backend="local"),
        session=Session(project=Project.around(resumable.root), progress=RecordedProgress()),
    )
    assert str(rows(report)["resume_equal"].status) == "PASSED"


@pytest.mark.slow
def test_runs_alone_are_not_judged_where_the_resumed_one_is_gone(resumable):
    project = Project.around(resumable.root)
    resumable.promote(resumable.reproduce())
    folders = [Path(run) for run in resumable.reproduce().runs]
    assert judge_again(folders, Request(), project=project).verdict == "REPRODUCED"
    for resumed in folders[0].parent.glob("*-resumed"):
        shutil.rmtree(resumed)
    report = judge_again(folders, Request(), project=project)
    assert (report.verdict, report.exit_code) == ("UNJUDGED", 4)
    assert "resume_equal" in report.sentence
