"""Whose line it is, told by where a file lies."""

from pathlib import Path

import pytest

from reprokit.instrumentation.reprokit_hook import frames

PROJECT = Path(__file__).resolve().parents[3]


def test_trainers_and_their_parts_beside_the_package_are_the_programs_own():
    assert frames.is_own(str(PROJECT / "recipes" / "trainers" / "ppo.py"))
    assert frames.is_own("/mnt/reprokit/recipes/parts/flat_adam.py")


@pytest.mark.parametrize("file", ["runtime/run.py", "instrumentation/reprokit_hook/frames.py"])
def test_the_package_itself_is_not(file):
    assert not frames.is_own(str(PROJECT / "reprokit" / file))
