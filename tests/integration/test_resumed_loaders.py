"""Samples lost by resuming, in programs that know nothing of reprokit: named by update, samples and line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "planted" / "loaders"))

from ask_diagnose import FORMS, PROGRAMS, ask, lines_of, python_of, why_wrong
from real_programs import CannotBeMadeError

from support.command_recipe import Repository

FOLDER = Path(__file__).resolve().parents[1] / "planted" / "loaders"
RECIPE = """\
schema: 1
name: train
title: A program that no one here wrote
variant: none
command: [python, train.py, "{run_dir}"FORM]
instrument: light
resume: {stop_args: [--stop-after, "13"], resume_args: [--resume, "{stopped_run_dir}"]}
seeds: [3]
platforms: [cpu-x86_64]
"""


def _cases():
    return [pytest.param(one, form, id=f"{one}-{form}") for one in PROGRAMS for form in FORMS]


@pytest.mark.slow  # within a minute: tests/stress/test_resume_matrix.py
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("program", "form"), _cases())
def test_a_resumed_loader_is_equal_or_its_first_wrong_update_and_its_line_are_named(tmp_path, program, form):
    try:
        python_of(program)
    except CannotBeMadeError as problem:
        pytest.skip(f"the environment of {program} cannot be made here: {problem}")
    answer = ask(program, form, reports=tmp_path)
    assert not answer.wrong, f"{answer.wrong}: {answer.code} {answer.cause}\n{answer.words[-2000:]}"


@pytest.mark.slow  # without a whole diagnosis: test_loader_ledger.py
@pytest.mark.parametrize(
    "form",
    ["helper", "list", "anew", "first", "same"],
)
@pytest.mark.parametrize("forgets", [False, True])
def test_a_loader_is_an_object_and_not_the_line_that_made_it(tmp_path, form, forgets):
    words = [
        sys.executable,
        str(FOLDER / "one_line.py"),
        "{run_dir}",
        "--form",
        form,
        *["--forget"] * forgets,
    ]
    how = ["--resume", "--stop-args", "--stop-at 2", "--resume-args", "--resume {stopped_run_dir}"]
    command = [sys.executable, "-m", "reprokit", "diagnose", "--json", *how, "--", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == int(forgets), done.stdout + done.stderr
    cause = json.loads(done.stdout)["cause"]
    if forgets:
        assert cause["what"].startswith("this loader does not continue where it stopped: update 9 trained on")
    else:
        assert cause is None


def test_an_answer_that_names_nothing_or_something_else_is_not_taken_for_right():
    (place,) = lines_of("torch_loop", "place")
    right = {"what": "this loader does not continue where it stopped: update 14 trained on samples 3 again"}
    right |= {"file": f"/x/{place[0]}", "line": place[1]}
    assert why_wrong("torch_loop", "place", 1, {"cause": right}) == ""
    assert why_wrong("torch_loop", "draws", 1, {"cause": right})
    assert why_wrong("torch_loop", "place", 1, {"cause": {**right, "line": place[1] + 1}})
    later = {**right, "what": right["what"].replace("14", "15")}
    assert why_wrong("torch_loop", "place", 1, {"cause": later})
    assert why_wrong("torch_loop", "place", 1, {"cause": None})
    assert why_wrong("torch_loop", "clean", 1, {"verdict": "NONDETERMINISTIC"})


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("form", FORMS)
def test_the_row_of_a_recipe_says_the_same(tmp_path, form):
    made = Repository(tmp_path / "theirs")
    made.root.mkdir()
    made.git("init", "--quiet")
    (made.root / ".gitignore").write_text("runs/\nreports/\n__pycache__/\n")
    recipe = RECIPE.replace("FORM", "".join(f", {word}" for word in FORMS[form]))
    files = {f"{name}_py": (FOLDER / f"{name}.py").read_text() for name in ("parts", "torch_loop")}
    made.write(train_py=files.pop("torch_loop_py"), **files, recipes__train__recipe_yaml=recipe)
    report = made.reproduce()
    row = next(one for one in report.checks if one.id == "resume_equal")
    if form == "clean":
        assert row.status == "PASSED", row.reason
    else:
        ((_, line),) = lines_of("torch_loop", form)
        assert row.status == "FAILED", row.reason
        assert "in the resumed run update 14 trained on sample" in row.reason
        assert row.reason.endswith(f"(the loader of train.py:{line})"), row.reason
