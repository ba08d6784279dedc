"""Real runs for the selftest: the real recipe, cut to three updates, each with a checkpoint."""

from __future__ import annotations

import pytest

from reprokit.harness import selftest
from reprokit.harness.selftest import planting
from reprokit.project import Project
from support.recorded_progress import SilentProgress
from support.study_project import make_study


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A project with a blessed pair of runs, and one run with another seed."""
    study = make_study(tmp_path_factory.mktemp("study"))
    study.change(study.recipe, "save_interval: 10000", "save_interval: 4096")  # something to resume from
    made = study.reproduce()
    assert made.report["verdict"] == "NO_GOLDEN", made.err
    promoted = study.reprokit("golden", "promote", "cartpole_baseline", "--reason", "r", "--allow-dirty")
    assert promoted.code == 0, promoted.err
    other = study.reprokit("run", "cartpole_baseline", "--backend", "local", "--seed", "43")
    assert other.code == 0, other.err
    return study


@pytest.fixture(scope="session")
def project(study):
    return Project.around(study.root)


@pytest.fixture(scope="session")
def samples(project) -> planting.Samples:
    return selftest.find("cartpole_baseline", project=project, progress=SilentProgress()).samples


@pytest.fixture(scope="session")
def silent():
    return SilentProgress()
