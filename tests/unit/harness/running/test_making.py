"""The announcement of an environment that is made, and its bar."""

from __future__ import annotations

import json

import pytest

from reprokit.harness.running.environments import making as module
from reprokit.harness.running.environments.making import making
from support.recorded_progress import RecordedProgress


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "_LEAST_S", 0.0)
    return tmp_path


def test_what_is_there_already_is_not_announced(cache):
    told = RecordedProgress()
    with making("cpu", kind="venv", progress=told):
        pass
    assert (told.notes, told.signs) == ([], [])
    assert not (cache / "durations.json").exists()


def test_a_build_is_announced_once_with_its_time_and_its_steps_are_one_bar(cache):
    told = RecordedProgress()
    with making("cpu", kind="image", progress=told) as say:
        say("image of cpu: step 2 of 12, FROM")
        say("base: installing bookworm packages (10 s)")
    assert told.notes == ["making the container image of cpu, once: about 2 min"]
    assert {label for label, _ in told.signs} == {"container image of cpu"}
    assert told.signs[0][1] in ("step 2 of 12, FROM", "installing bookworm packages")


def test_the_next_build_is_announced_with_the_time_that_the_last_one_took(cache):
    (cache / "durations.json").write_text(json.dumps({"image cpu": 41.0, "image other": 300, "venv cpu": 9}))
    told = RecordedProgress()
    with making("cpu", kind="image", progress=told) as say:
        say("image of cpu: building")
    assert told.notes == ["making the container image of cpu, once: about 41 s"]
    assert json.loads((cache / "durations.json").read_text())["image cpu"] < 41


def test_what_a_person_should_read_stays(cache):
    told = RecordedProgress()
    with making("cuda", kind="venv", progress=told) as say:
        say("https://example.org cannot be reached: using cpu instead of cuda")
        say("image of cpu: sha256:1 has its label, but this host has no record of having built it")
    assert [note.partition(" ")[0] for note in told.notes] == ["https://example.org", "image"]
    assert told.signs == []
