"""`reprokit image`: what it prints, where, and the exit codes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from reprokit.cli.image import command
from reprokit.errors import ImageError, RecipeError
from reprokit.images.packages import digest_of


@pytest.fixture
def here(small_project, monkeypatch: pytest.MonkeyPatch):
    """A small project as the working directory, with a cache of its own and no engine."""
    monkeypatch.chdir(small_project.root)
    monkeypatch.setenv("REPROKIT_CACHE", str(small_project.cache))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{small_project.cache}/nothing-listens-here.sock")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(small_project.wheels))
    return small_project


def invoke(*arguments: str):
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def test_an_environment_is_built_and_then_listed_as_current(here):
    built = invoke("build", "cpu", "--venv", "--json")
    realisation = json.loads(built.stdout)
    assert built.return_value == 0
    assert "installing packages" in built.stderr
    (row,) = json.loads(invoke("list", "--json").stdout)
    assert row == {
        "variant": "cpu",
        "kind": "venv",
        "reference": realisation["reference"],
        "lock_digest": digest_of(here.lock),
        "base": None,
        "size_bytes": None,
        "current": True,
    }
    here.lock.write_text(here.add_wheel(version="2.0"), encoding="utf-8")
    assert invoke("list").stdout.startswith("  cpu    venv")


def test_with_nothing_there_the_list_is_empty_and_says_what_makes_one(here):
    listed = invoke("list")
    assert listed.stdout == ""
    assert "reprokit image build cpu" in listed.stderr
    assert json.loads(invoke("list", "--json").stdout) == []


def test_an_image_without_an_engine_ends_with_the_way_round(here):
    error = invoke("build", "cpu").exception
    assert error.exit_code == 3
    assert "--backend local" in error.fix


def test_an_unknown_variant_is_a_usage_error(here):
    assert isinstance(invoke("build", "gpu", "--venv").exception, RecipeError)


def test_a_lock_is_solved_written_and_then_agrees(here):
    (here.lock.parent / "requirements.in").write_text("tiny\n", encoding="utf-8")
    here.add_wheel(version="2.0")
    stale = invoke("lock", "cpu", "--check")
    assert stale.return_value == 1
    assert "2.0" not in here.lock.read_text(encoding="utf-8")
    assert invoke("lock", "cpu").return_value == 0
    assert invoke("lock", "cpu", "--check").return_value == 0


def test_a_lock_that_moves_says_what(here):
    (here.lock.parent / "requirements.in").write_text("tiny>1\n", encoding="utf-8")
    here.add_wheel(version="2.0")
    assert invoke("lock", "cpu").stdout == "tiny 1.0 -> 2.0\n"


def test_outside_a_project_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(invoke("list").exception, ImageError)
