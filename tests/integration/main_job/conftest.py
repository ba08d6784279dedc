"""A project of its own for each fault: the real recipe and trainer, cut to a few updates."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.made_once import made_once
from support.study_project import Study, make_study


@pytest.fixture
def study_at() -> Callable[[Path], Study]:
    """The tool, started in a folder of the test's own."""
    return lambda root: Study(root=root)


@pytest.fixture(scope="module")
def study_at_module() -> Callable[[Path], Study]:
    """The same, in a folder that the tests of a module share."""
    return lambda root: Study(root=root)


def bless(root: Path) -> None:
    """A study with a golden."""
    study = make_study(root)
    first = study.reproduce()
    assert first.code == 4, first.out + first.err
    assert first.report["verdict"] == "NO_GOLDEN"
    promoted = study.reprokit(
        "golden", "promote", "cartpole_baseline", "--reason", "first golden", "--allow-dirty"
    )
    assert promoted.code == 0, promoted.err


@pytest.fixture(scope="session")
def blessed(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study with a golden, for the tests of this process; nothing may be changed in it."""
    root = tmp_path_factory.mktemp("study") / "project"
    shutil.copytree(made_once("blessed", bless, tmp_path_factory), root, symlinks=True)
    return Study(root=root)


@pytest.fixture(scope="session")
def copy_of_blessed(blessed: Study, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Study]:
    """Makes copies of the blessed study that may be broken, without its runs and reports."""

    def copy() -> Study:
        root = tmp_path_factory.mktemp("copy") / "study"
        shutil.copytree(blessed.root, root, ignore=shutil.ignore_patterns("runs", "reports"))
        return Study(root=root)

    return copy


@pytest.fixture
def study(copy_of_blessed: Callable[[], Study]) -> Study:
    """A copy of the blessed study that a test may break."""
    return copy_of_blessed()


@pytest.fixture
def wait_for() -> Callable[[Callable[[], bool], float], None]:
    """Wait until a condition holds, or fail."""

    def wait(condition: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.05)

    return wait
