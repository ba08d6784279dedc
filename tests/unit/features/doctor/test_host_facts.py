"""Reading this host."""

import sys

import pytest

from reprokit.execution.docker import EngineStatus
from reprokit.features.doctor import host_facts
from reprokit.features.doctor.host_facts import look


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch, tmp_path):
    none = EngineStatus(reachable=False, error="none", remedy="start one")
    monkeypatch.setattr(host_facts.engine_status, "engine_status", lambda: none)
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "cache"))


def test_this_host_is_read(tmp_path):
    seen = look(tmp_path)
    assert seen.python == sys.version_info[:2]
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in seen.pythons
    assert seen.host["cpu"]["architecture"]
    assert (seen.cache, seen.cache_problem) == (str(tmp_path / "cache"), "")
    assert (seen.locks, seen.locks_problem) == ({}, "")


def test_broken_locks_are_a_problem_with_its_place(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "lock.toml").write_text("schema =")
    seen = look(tmp_path)
    assert seen.locks == {}
    assert "lock.toml" in seen.locks_problem


def test_a_cache_that_cannot_be_made_is_a_problem(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "file" / "cache"))
    seen = look(tmp_path)
    assert seen.cache == ""
    assert "file" in seen.cache_problem


@pytest.mark.parametrize(
    ("name", "summary", "expected"),
    [
        ("reprokit", "Someone else's", ("reprokit 9.9",)),
        ("Reprokit_ML", "Someone else's", ("Reprokit_ML 9.9",)),
        ("reprokit", "Train twice: verified reproducible training.", ()),
        ("reprokit-verify", "Someone else's", ()),
    ],
)
def test_distributions_of_other_projects_are_seen(tmp_path, monkeypatch, name, summary, expected):
    folder = tmp_path / f"{name}-9.9.dist-info"
    folder.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\nSummary: {summary}\n"
    (folder / "METADATA").write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert host_facts._others() == expected


def test_a_folder_of_pictures_is_no_place_of_environments(tmp_path):
    (tmp_path / "images").mkdir()
    assert host_facts._locks(tmp_path) == ({}, {}, "")
