"""The Makefile: the map, stamps that make a no-op instant, and what it says without a fitting Python."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reprokit.core.run_record import RunRecord
from reprokit.harness.reproduce import rerun_line


@pytest.fixture
def checkout(project: Path, tmp_path: Path) -> Path:
    """Makefile and locks in a folder of their own, set up in name only."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(project / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho this must not run >&2\nexit 9\n")
    python.chmod(0o755)
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("MAKE") and key != "ARGS"
    }
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_make_alone_prints_the_map_of_every_target(project: Path):
    done = make(project)
    assert done.returncode == 0
    (targets,) = re.findall(r"^\.PHONY: (.*)$", (project / "Makefile").read_text(), flags=re.MULTILINE)
    assert set(re.findall(r"^make ([a-z-]+) ", done.stdout, flags=re.MULTILINE)) == set(targets.split())


def test_what_is_set_up_is_not_set_up_again(checkout: Path):
    (checkout / ".venv" / ".tool").touch()
    (checkout / ".venv" / ".dev").touch()
    done = make(checkout, "setup", ".venv/.dev")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("lock", "target"), [("requirements.lock", "setup"), ("requirements-dev.lock", ".venv/.dev")]
)
def test_a_lock_that_changed_is_installed_again(checkout: Path, lock: str, target: str):
    (checkout / ".venv" / ".tool").touch()
    (checkout / ".venv" / ".dev").touch()
    os.utime(checkout / lock, (2**31 - 2, 2**31 - 2))
    done = make(checkout, target)
    assert done.returncode == 2
    assert "this must not run" in done.stderr


def test_without_a_fitting_python_it_says_what_to_install(checkout: Path):
    shutil.rmtree(checkout / ".venv")
    done = make(checkout, "setup", "PYTHON=")
    assert done.returncode == 2
    assert "needs Python 3.11, 3.12 or 3.13" in done.stderr
    assert not (checkout / ".venv").exists()


def test_the_environment_is_made_from_hashes_alone(checkout: Path):
    done = make(checkout, "--dry-run", "--always-make", ".venv/.dev", "PYTHON=python3")
    installs = [line for line in done.stdout.splitlines() if " -m pip " in line and " install " in line]
    assert len(installs) == 3
    assert all("--require-hashes" in line or "--no-index" in line for line in installs)


@pytest.fixture
def said(checkout: Path) -> Callable[..., list[str]]:
    """What `make reproduce …` gives the tool: its arguments, as the tool sees them."""
    for name in (".tool", ".dev"):
        (checkout / ".venv" / name).touch()
    tool = checkout / ".venv" / "bin" / "reprokit"
    tool.write_text('#!/bin/sh\n[ "$1" = data ] && exit\nfor word; do echo "$word"; done\n')
    tool.chmod(0o755)

    def type_line(line: str) -> list[str]:
        program, *arguments = shlex.split(line)
        assert program == "make"
        done = make(checkout, *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    return type_line


def test_a_seed_that_is_named_reaches_the_tool(said: Callable[..., list[str]]):
    assert said("make reproduce RECIPE=x SEED=7") == ["reproduce", "x", "--seed", "7"]


def test_without_a_seed_the_recipe_chooses(said: Callable[..., list[str]]):
    assert said("make reproduce RECIPE=x") == ["reproduce", "x"]
    assert said("make reproduce SEED=0") == ["reproduce", "cartpole_baseline", "--seed", "0"]


@pytest.mark.parametrize("overrides", [(), ("training.gamma=0.98",), ("a=it's $HOME", 'b=["x", "y z"]')])
def test_the_line_that_a_report_gives_runs_the_same_again(
    said: Callable[..., list[str]], overrides: tuple[str, ...]
):
    line = rerun_line(RunRecord(recipe="x", seed=7, modified=tuple(overrides)))
    sets = [word for override in overrides for word in ("--set", override)]
    assert said(line) == ["reproduce", "x", "--seed", "7", *sets]


@pytest.mark.parametrize(("asked", "words"), [("auto", []), ("local", ["--backend", "local"])])
def test_the_line_that_a_report_gives_forces_the_backend_that_was_forced(
    said: Callable[..., list[str]], asked: str, words: list[str]
):
    line = rerun_line(RunRecord(recipe="x", seed=7, backend="local", backend_asked=asked))
    assert said(line) == ["reproduce", "x", "--seed", "7", *words]
