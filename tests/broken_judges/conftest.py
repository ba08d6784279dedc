"""Real runs for the selftest: the real recipe, cut to three updates, each with a checkpoint."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from reprokit.harness import selftest
from reprokit.harness.selftest import planting
from reprokit.project import Project

sys.path.insert(0, str(Path(__file__).parent))
_STUDY = Path(__file__).parents[1] / "integration" / "main_job" / "conftest.py"


class Silent:
    """A progress display that tells nobody."""

    def phase(self, name): ...
    def update(self, *args, **kwargs): ...
    def alive(self, *args): ...
    def note(self, text): ...


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """A project with a blessed pair of runs, and one run with another seed."""
    spec = importlib.util.spec_from_file_location("main_job_study", _STUDY)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    study = module.make_study(tmp_path_factory.mktemp("study"))
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
    return selftest.find("cartpole_baseline", project=project, progress=Silent()).samples


@pytest.fixture(scope="session")
def silent():
    return Silent()
