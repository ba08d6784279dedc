"""Older commits that import a package which this Python lacks are run nevertheless."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RECIPE = """\
schema: 1
name: train
title: a program of someone's
variant: none
command: [python, train.py, "{seed}", "{run_dir}"]
seeds: [1]
platforms: [cpu-x86_64]
"""
BEFORE = """\
import json, random, sys
import tiny
random.seed(int(sys.argv[1]))
with open(sys.argv[2] + "/metrics.jsonl", "w") as log:
    for step in range(3):
        log.write(json.dumps({"step": step, "loss": 0.5 * random.random()}) + "\\n")
"""
PLACE = "in an environment of its own requirements.txt: this Python has no tiny"


class Theirs:
    """A repository whose program once imported a package."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "recipes" / "train").mkdir(parents=True)
        (root / "recipes" / "train" / "recipe.yaml").write_text(RECIPE)
        (root / "train.py").write_text(BEFORE)
        (root / "requirements.txt").write_text("tiny\n")
        (root / ".gitignore").write_text("/runs/\n/reports/\n")
        self.git("init", "--quiet")
        self.commit("with a package")

    def git(self, *words: str) -> str:
        name = ("-c", "user.name=they", "-c", "user.email=they@example.org")
        done = subprocess.run(
            ["git", *name, *words], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def change(self, old: str, new: str, message: str) -> None:
        path = self.root / "train.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        self.commit(message)

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reprokit", *words]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)


@pytest.fixture
def theirs(tmp_path, small_project, monkeypatch) -> Theirs:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    root = tmp_path / "theirs"
    root.mkdir()
    return Theirs(root)


def without_package(theirs: Theirs) -> None:
    (theirs.root / "requirements.txt").unlink()
    theirs.change("import tiny\n", "", "without it")


@pytest.mark.slow
def test_bisect_runs_a_commit_in_an_environment_of_its_own_files_where_this_python_lacks_its_package(theirs):
    good = theirs.git("rev-parse", "HEAD")
    without_package(theirs)
    theirs.change("0.5 *", "0.25 *", "another factor")
    done = theirs.call("bisect", "train", "--good", good, "--bad", "HEAD", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert [one["subject"] for one in answer["guilty"]] == ["another factor"]
    details = {one["subject"]: one["detail"] for one in answer["tested"]}
    assert details["with a package"] == f"the reference run; {PLACE}"
    assert PLACE not in details["without it"]


@pytest.mark.slow
def test_attribution_runs_both_codes_in_the_environment_of_the_goldens_files(theirs):
    theirs.git("checkout", "--quiet", "-B", "main")
    tiny = theirs.root.parent / "tiny.py"
    tiny.touch()
    blessed = subprocess.run(
        [sys.executable, "-m", "reprokit", "reproduce", "train"],
        cwd=theirs.root,
        env={**os.environ, "PYTHONPATH": str(tiny.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert blessed.returncode == 4, blessed.stderr  # NO_GOLDEN
    promoted = theirs.call("golden", "promote", "train", "--reason", "the first")
    assert promoted.returncode == 0, promoted.stderr
    theirs.commit("a golden")
    without_package(theirs)
    theirs.change("0.5 *", "0.25 *", "another factor")
    done = theirs.call("reproduce", "train", "--attribute", "--json")
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["attribution"]
    cells = {(one["code"], one["environment"]): (one["result"], one["detail"]) for one in found["cells"]}
    assert cells["golden's", "golden's"] == ("equal", PLACE)
    assert cells["golden's", "today's"] == ("not run", PLACE)
    assert cells["today's", "golden's"][0] == "differs"
    assert found["answer"] == "code"


@pytest.mark.slow
def test_a_tree_that_names_no_packages_is_skipped_as_before(theirs):
    without_package(theirs)
    theirs.change("import json", "import nothing_of_this_name, json", "cannot run")
    theirs.change("import nothing_of_this_name, json", "import json", "can again")
    good = theirs.git("rev-parse", "HEAD")
    theirs.change("import json", "import nothing_of_this_name, json", "cannot run again")
    done = theirs.call("bisect", "train", "--good", good, "--bad", "HEAD")
    assert done.returncode == 3
    assert "the bad commit cannot run" in done.stderr
