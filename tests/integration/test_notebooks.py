"""The two ways to run a notebook that the documentation shows, with Jupyter's own programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.core.checklist import Verdict
from support.command_recipe import Repository

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run-notebooks.md"
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
PARAMETERS = [text for language, text in BLOCKS if language == "python"]
RECIPES = [text for language, text in BLOCKS if language == "yaml"]
WAYS = dict(zip(("papermill", "nbconvert"), zip(PARAMETERS, RECIPES, strict=True), strict=True))
TRAINING = """\
import json, random
random.seed(seed)
value = 1.0
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(4):
        value -= 0.1 * random.random()
        log.write(json.dumps({"step": step, "loss": value}) + "\\n")
"""


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory) -> Path:
    """A Python with Jupyter's programs, from the package index."""
    folder = tmp_path_factory.mktemp("jupyter") / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    done = subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "nbconvert", "papermill", "ipykernel"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"Jupyter cannot be installed here: {done.stderr.splitlines()[-1:]}")
    return python


@pytest.fixture
def repository(tmp_path: Path, jupyter: Path):
    """A repository with a notebook, and the recipe that the page shows for one of the ways."""

    def make(way: str, *, training: str = TRAINING) -> Repository:
        parameters, recipe = WAYS[way]
        assert way in recipe
        recipe = recipe.replace("variant: notebook", "variant: none").replace("[python,", f"[{jupyter},")
        found = Repository(tmp_path / "project")
        found.root.mkdir()
        found.git("init", "--quiet")
        notebook = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
            "cells": [
                cell(f"import os\n{parameters}", identity="first", tags=["parameters"]),
                cell(training, identity="second"),
            ],
        }
        (found.root / "train.ipynb").write_text(json.dumps(notebook))
        found.write(recipes__train__recipe_yaml=recipe.replace("name: notebook", "name: train"))
        return found

    return make


def cell(source: str, *, identity: str, tags: list[str] | None = None) -> dict:
    return {
        "cell_type": "code",
        "id": identity,
        "metadata": {"tags": tags or []},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


@pytest.mark.parametrize(
    "way",
    [pytest.param("papermill", marks=pytest.mark.smoke), pytest.param("nbconvert", marks=pytest.mark.slow)],
)
def test_a_notebook_repeats_gets_a_golden_and_is_held_to_it(repository, way):
    notebook = repository(way)
    first = notebook.reproduce()
    assert first.verdict is Verdict.NO_GOLDEN, first.sentence
    log = Path(first.runs[0]) / "metrics.jsonl"
    assert [json.loads(line)["step"] for line in log.read_text().splitlines()] == [0, 1, 2, 3]
    assert list(Path(first.runs[0]).glob("output/**/train.ipynb"))  # the executed one
    notebook.promote(first)
    assert notebook.reproduce().verdict is Verdict.REPRODUCED

    file = notebook.root / "train.ipynb"
    file.write_text(file.read_text().replace("0.1 *", "0.2 *"))
    notebook.commit()
    assert notebook.reproduce().verdict is Verdict.REGRESSION


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_cell_that_raises_is_a_run_that_did_not_finish(repository, way):
    report = repository(way, training=TRAINING + "raise ValueError('planted')\n").reproduce()
    assert report.verdict is Verdict.NOT_RUN
    assert "planted" in str(report.not_run)


@pytest.mark.slow
def test_a_notebook_that_draws_without_a_seed_does_not_repeat(repository):
    training = TRAINING.replace("random.seed(seed)", "print(seed)")
    assert repository("papermill", training=training).reproduce().verdict is Verdict.NONDETERMINISTIC
