"""Programs of other Pythons than the tool's: from ``init`` to the line that ``diagnose`` names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit.images import interpreters

PROGRAM = """\
import argparse, json, random
import tiny
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--out", default="out")
options = parser.parse_args()
generator = random.Random(options.seed)
with open(options.out + "/metrics.jsonl", "w") as log:
    for step in range(4):
        log.write(json.dumps({"step": step, "loss": 0.5 * generator.random()}) + "\\n")
"""
OTHERS = ("3.8", "3.9", "3.10", "3.12", "3.13", "3.14", "3.15")


class Theirs:
    """A repository of someone's, in which the tool is used as a person would."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def git(self, *words: str) -> None:
        name = ("-c", "user.name=they", "-c", "user.email=they@example.org")
        subprocess.run(["git", *name, *words], cwd=self.root, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a change")

    def change(self, old: str, new: str) -> None:
        path = self.root / "train.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
        self.commit()

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "reprokit", *words]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)

    def verdict(self, *words: str) -> tuple[str, int]:
        done = self.call(*words, "--json")
        answer = json.loads(done.stdout)
        return [answer, *answer.get("reports", ())][-1]["verdict"], done.returncode


@pytest.fixture
def theirs(tmp_path, small_project, monkeypatch) -> Theirs:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "theirs"
    root.mkdir()
    (root / "train.py").write_text(PROGRAM)
    (root / "requirements.txt").write_text("tiny\n")
    repository = Theirs(root)
    repository.git("init", "--quiet")
    repository.commit()
    return repository


def needs(python: str) -> None:
    if interpreters.on_this_host(python) is None:
        pytest.skip(f"this host has no Python {python}")


def with_golden(theirs: Theirs, python: str) -> str:
    """Write recipe and golden as a person does; what ``init`` said."""
    (theirs.root / ".python-version").write_text(f"{python}\n")
    theirs.commit()
    found = theirs.call("init", "--yes", "--", "python", "train.py")
    assert found.returncode == 0, found.stderr
    theirs.commit()
    assert theirs.verdict("reproduce", "train") == ("NO_GOLDEN", 4)
    promoted = theirs.call("golden", "promote", "train", "--reason", "the first")
    assert promoted.returncode == 0, promoted.stderr
    theirs.commit()
    return found.stdout


@pytest.mark.parametrize("python", [pytest.param(one, marks=pytest.mark.slow) for one in OTHERS])
def test_a_program_of_another_python_goes_all_the_way(theirs, python):
    needs(python)
    assert f"python       {python}, as .python-version says" in with_golden(theirs, python)
    assert theirs.verdict("verify", "train") == ("REPRODUCED", 0)
    theirs.change("0.5 *", "0.25 *")
    assert theirs.verdict("verify", "train") == ("REGRESSION", 1)
    theirs.change("random.Random(options.seed)", "random.Random()")
    assert theirs.verdict("verify", "train") == ("NONDETERMINISTIC", 1)
    cause = json.loads(theirs.call("diagnose", "train", "--json").stdout)["cause"]
    found = (cause["category"], Path(cause["file"]).name, cause["line"])
    assert found == ("unseeded_rng", "train.py", 7)


def test_init_runs_a_program_in_the_python_that_its_project_names(theirs):
    python = next((one for one in ("3.10", "3.12") if interpreters.on_this_host(one)), "")
    if not python:
        pytest.skip("this host has neither Python 3.10 nor 3.12")
    theirs.change('"loss":', '"python": sys.version_info[1], "loss":')
    theirs.change("import argparse,", "import argparse, sys,")
    (theirs.root / ".python-version").write_text(f"{python}\n")
    theirs.commit()
    done = theirs.call("init", "--yes", "--", "python", "train.py")
    assert done.returncode == 0, done.stderr
    assert f"python       {python}, as .python-version says" in done.stdout
    theirs.commit()
    folder = json.loads(theirs.call("reproduce", "train", "--json").stdout)["runs"][0]
    lines = Path(theirs.root, folder, "metrics.jsonl").read_text().splitlines()
    assert {json.loads(line)["python"] for line in lines} == {int(python.partition(".")[2])}


def test_a_contradiction_names_both_and_runs_nothing(theirs):
    (theirs.root / "pyproject.toml").write_text('[project]\nname = "a"\nrequires-python = ">=3.12"\n')
    theirs.commit()
    done = theirs.call("init", "--yes", "--python", "3.10", "--", "python", "train.py")
    assert done.returncode == 2
    assert "Python >=3.12 (pyproject.toml)" in done.stderr
    assert "Python 3.10 (--python)" in done.stderr
    assert not (theirs.root / "recipes").exists()


@pytest.mark.slow
def test_numbers_that_another_python_moved_are_a_stale_golden(theirs):
    """The built-in sum() of floats rounds differently since 3.12."""
    needs("3.10")
    needs("3.12")
    theirs.change("0.5 * generator.random()", "sum(generator.random() for _ in range(1000))")
    with_golden(theirs, "3.10")
    done = theirs.call("image", "lock", "train", "--python", "3.12")
    assert done.returncode == 0, done.stderr
    theirs.commit()
    answer = theirs.call("verify", "train")
    assert answer.returncode == 4
    assert "verdict: STALE_GOLDEN" in answer.stdout
    assert "inside.python.minor" in answer.stdout
