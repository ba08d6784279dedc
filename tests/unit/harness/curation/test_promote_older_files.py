"""Promoting runs that were made from other files than those that lie here now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit import cli

GOLDEN = "golden/train/cpu-x86_64/seed-3"


@pytest.fixture
def promote(repository, monkeypatch, capfd):
    """Promotes by the command line; the exit code, and what it said in one line."""
    monkeypatch.chdir(repository.root)

    def promote(*what):
        with pytest.raises(SystemExit) as ended:
            cli.main(["golden", "promote", *what, "--reason", "first"])
        return ended.value.code, " ".join(capfd.readouterr().err.split())

    return promote


def test_the_newest_runs_of_a_recipe_are_refused_once_its_files_were_edited(repository, promote):
    repository.reproduce()
    repository.write(settings_py="RATE = 0.2\n")
    code, said = promote("train")
    assert (code, "made from other files than those here: settings.py" in said) == (2, True), said
    assert "`reprokit reproduce train`, then promote again" in said
    assert not (repository.root / GOLDEN).exists()


def test_an_edited_recipe_is_named_too(repository, promote):
    repository.reproduce()
    recipe = repository.root / "recipes" / "train" / "recipe.yaml"
    repository.write(recipes__train__recipe_yaml=recipe.read_text().replace('"{seed}"', '"7"'))
    code, said = promote("train")
    assert (code, "made from other files than those here: the recipe" in said) == (2, True), said


def test_runs_that_are_named_are_promoted_and_the_golden_is_said_to_be_of_their_files(repository, promote):
    report = repository.reproduce()
    repository.write(settings_py="RATE = 0.2\n")
    code, said = promote(*report.runs)
    told = "other files than those here: settings.py; the golden is of the files of these runs"
    assert (code, told in said) == (0, True), said
    provenance = json.loads((repository.root / GOLDEN / "provenance.json").read_text())
    first = json.loads((Path(report.runs[0]) / "run.json").read_text())
    assert provenance["digests"]["program"] == first["digests"]["program"]


def test_of_unchanged_files_nothing_is_said(repository, promote):
    repository.reproduce()
    code, said = promote("train")
    assert (code, "other files" in said, said.endswith("Commit it.")) == (0, False, True), said
