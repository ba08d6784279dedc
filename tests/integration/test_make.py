"""The Makefile: the map, stamps that make a no-op instant, and what it says without a fitting Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

TARGETS = {
    *("help", "setup", "reproduce", "verify", "test", "test-all", "lint", "bench", "image", "lock", "clean")
}


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
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_make_alone_prints_the_map_of_every_target(project: Path):
    done = make(project)
    assert done.returncode == 0
    assert set(re.findall(r"^make ([a-z-]+) ", done.stdout, flags=re.MULTILINE)) == TARGETS


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
