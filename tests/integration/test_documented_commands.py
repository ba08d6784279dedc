"""What the tutorials say is done as they say it, and prints what they show."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import documented_commands as documented

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs/tutorial"
GIT = {
    "GIT_AUTHOR_NAME": "a reader",
    "GIT_AUTHOR_EMAIL": "reader@example.org",
    "GIT_COMMITTER_NAME": "a reader",
    "GIT_COMMITTER_EMAIL": "reader@example.org",
}


@pytest.mark.slow
def test_the_tutorial_of_your_own_program_can_be_followed(tmp_path):
    assert documented.follow(TUTORIALS / "your-program.md", tmp_path, environment=GIT) > 15


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.timeout(1800)
def test_the_tutorial_of_this_repository_can_be_followed(tmp_path, engine):
    clone = tmp_path / "reprokit"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    assert documented.follow(TUTORIALS / "first-reproduction.md", clone, environment=GIT) > 5
