"""Real runs for the selftest: the real recipe, cut to three updates, each with a checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reprokit.features.selftest import planting
from reprokit.features.selftest.samples import find
from reprokit.project import Project
from reprokit.session import Session
from support.made_once import made_once
from support.recorded_progress import SilentProgress
from support.study_project import Study, make_study


def make(root: Path) -> None:
    """A project with a blessed pair of runs, and one run with another seed."""
    study = make_study(root)
    study.change(study.recipe, "save_interval: 10000", "save_interval: 4096")  # something to resume from
    made = study.reproduce()
    assert made.report["verdict"] == "NO_GOLDEN", made.err
    promoted = study.reprokit("golden", "promote", "cartpole_baseline", "--reason", "r", "--allow-dirty")
    assert promoted.code == 0, promoted.err
    other = study.reprokit("run", "cartpole_baseline", "--backend", "local", "--seed", "43")
    assert other.code == 0, other.err


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> Study:
    """A copy of the project for the tests of this process."""
    root = tmp_path_factory.mktemp("study") / "project"
    shutil.copytree(made_once("selftest", make, tmp_path_factory), root, symlinks=True)
    return Study(root=root)


@pytest.fixture(scope="session")
def project(study):
    return Project.around(study.root)


@pytest.fixture(scope="session")
def samples(project) -> planting.Samples:
    return find("cartpole_baseline", session=Session(project=project, progress=SilentProgress())).samples


@pytest.fixture(scope="session")
def silent():
    return SilentProgress()
