"""What is started to measure determinism claims, and what is refused before an environment is built."""

import pytest

from reprokit.core.records import Realisation
from reprokit.errors import CannotRunError, ReportError, UsageError
from reprokit.features.numerics import determinism_claims, environment_probe
from reprokit.features.numerics.determinism_claims import ClaimsCheck, measure_claims
from reprokit.probes import known_claims
from reprokit.project import Project
from reprokit.session import Session
from support.recorded_progress import RecordedProgress


class Silent:
    """Progress that no one reads."""

    def __getattr__(self, name):
        return lambda *_, **__: None


ENVIRONMENT = Realisation(
    variant="cpu",
    kind="venv",
    reference="/venv",
    digest="d",
    python="/venv/bin/python",
    lock_digest="sha256:0",
)

ANSWER = {"rows": [{"operation": "mm"}], "batches": {}}
KEPT = []


@pytest.fixture
def started(monkeypatch):
    """Probes that were started instead of run."""
    specs = []
    monkeypatch.setattr(environment_probe, "resolve", lambda *_, **__: ("local", ENVIRONMENT))
    monkeypatch.setattr(environment_probe, "run", lambda spec, **_: specs.append(spec) or ANSWER)
    monkeypatch.setattr(known_claims, "keep", KEPT.append)
    KEPT.clear()
    return specs


def measure(folder, **wanted):
    project = Project.around(folder)
    return measure_claims(ClaimsCheck(**wanted), session=Session(project=project, progress=Silent()))


def test_no_numerics_profile_takes_the_threads_away_in_which_a_cpu_races(started, tmp_path):
    assert measure(tmp_path, num_repeats=7, only="index_*", compiled=False) == ANSWER
    [spec] = started
    assert spec.device == "cpu"
    assert spec.command[1:5] == (
        "-m",
        "reprokit.features.numerics.inside.determinism_claims",
        "--device",
        "{device}",
    )
    assert spec.command[-5:] == ("--repeats", "7", "--only", "index_*", "--no-compiled")
    assert not [name for name in spec.environment if "THREADS" in name or "MKL" in name]


def test_a_host_without_a_gpu_is_told_so_before_an_environment_is_built(started, tmp_path, monkeypatch):
    monkeypatch.setattr(determinism_claims.capture, "capture_host", lambda _: {"gpus": []})
    with pytest.raises(CannotRunError, match="no NVIDIA GPU"):
        measure(tmp_path, device="cuda")
    assert started == []

    monkeypatch.setattr(determinism_claims.capture, "capture_host", lambda _: {"gpus": [{"name": "H100"}]})
    measure(tmp_path, device="cuda")
    assert started[0].device == "cuda"


def test_what_was_found_is_kept_for_recipes(started, tmp_path):
    measure(tmp_path)
    assert KEPT == [ANSWER]


def test_what_was_measured_and_cannot_be_kept_is_shown_nevertheless(started, tmp_path, monkeypatch):
    def refuse(_):
        raise ReportError("these findings cannot be kept: device: …")

    monkeypatch.setattr(known_claims, "keep", refuse)
    progress, project = RecordedProgress(), Project.around(tmp_path)
    found = measure_claims(ClaimsCheck(), session=Session(project=project, progress=progress))
    assert found == ANSWER
    assert "these findings cannot be kept: device: …" in progress.notes


def test_a_pattern_that_names_no_operation_is_refused(started, tmp_path, monkeypatch):
    monkeypatch.setattr(environment_probe, "run", lambda *_, **__: {"rows": [], "batches": {}})
    with pytest.raises(UsageError, match="no operation has a name like 'indx_\\*'"):
        measure(tmp_path, only="indx_*")
    assert KEPT == []
