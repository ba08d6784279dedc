"""`reprokit image`: what it prints, where, and the exit codes."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from reprokit.cli.commands.image import command
from reprokit.errors import EngineError, ImageError, RecipeError, UsageError
from reprokit.images.packages import digest_of

OTHER = """
[variants.other]
title = "another"
python = "3.11"
machines = ["x86_64"]
"""
RUN = '{"image": {"kind": "image", "variant": "cpu", "digest": "sha256:0", "lock_digest": "sha256:0"}}'


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
    title, line = invoke("list").stdout.splitlines()
    assert title.split() == ["variant", "kind", "size", "lock", "base", "reference"]
    assert line.split() == ["cpu", "venv", "-", row["lock_digest"][7:19], "-", realisation["reference"]]


def test_with_nothing_there_the_list_is_empty_and_says_what_makes_one(here):
    listed = invoke("list")
    assert listed.stdout == ""
    assert "reprokit image build cpu" in listed.stderr
    assert json.loads(invoke("list", "--json").stdout) == []


def test_an_image_without_an_engine_ends_with_the_way_round(here):
    error = invoke("build", "cpu").exception
    assert error.exit_code == 3
    assert "--backend local" in error.fix


@pytest.mark.parametrize(
    "words", [("build",), ("verify",), ("rebuild", "--from", "."), ("show",)], ids=lambda words: words[0]
)
def test_every_verb_that_asks_an_engine_asks_the_one_that_is_named(here, monkeypatch, words):
    """The name goes where the SDK looks; that nothing listens there is what the error says."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///elsewhere.sock")
    (here.root / "run.json").write_text(RUN, encoding="utf-8")
    named = f"unix://{here.cache}/another.sock"
    error = invoke(*words, "--engine-host", named).exception
    assert isinstance(error, EngineError)
    assert os.environ["DOCKER_HOST"] == named


def test_an_engine_s_address_that_is_none_is_refused(here):
    assert (
        "is not an engine address"
        in invoke("build", "--engine-host", "/var/run/docker.sock").exception.message
    )


def test_a_registry_s_base_and_a_vendored_folder_exclude_each_other(here):
    error = invoke("build", "cpu", "--from-vendor", str(here.root), "--base", "registry").exception
    assert isinstance(error, UsageError)
    assert "--image-from bootstrap" in error.expected


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


def test_with_no_variant_every_lock_is_checked_and_what_moves_is_told_by_variant(here):
    (here.lock.parent / "requirements.in").write_text("tiny\n", encoding="utf-8")
    path = here.root / "images" / "lock.toml"
    path.write_text(path.read_text() + OTHER, encoding="utf-8")
    other = here.root / "images" / "other"
    other.mkdir()
    (other / "requirements.in").write_text("tiny>1\n", encoding="utf-8")
    (other / "requirements.lock").write_text(here.lock.read_text(), encoding="utf-8")
    here.add_wheel(version="2.0")
    checked = invoke("lock", "--check", "--json")
    assert checked.return_value == 1
    assert json.loads(checked.stdout) == {"agrees": False, "moved": ["other: tiny 1.0 -> 2.0"]}
    assert "2.0" not in (other / "requirements.lock").read_text(encoding="utf-8")


def test_a_name_that_is_no_variant_is_refused_before_any_lock_is_written(here):
    (here.lock.parent / "requirements.in").write_text("tiny>1\n", encoding="utf-8")
    here.add_wheel(version="2.0")
    assert isinstance(invoke("lock", "cpu", "gpu").exception, RecipeError)
    assert "2.0" not in here.lock.read_text(encoding="utf-8")


def test_a_lock_that_moves_says_what(here):
    (here.lock.parent / "requirements.in").write_text("tiny>1\n", encoding="utf-8")
    here.add_wheel(version="2.0")
    assert invoke("lock", "cpu").stdout == "tiny 1.0 -> 2.0\n"


def test_outside_a_project_the_message_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(invoke("list").exception, ImageError)
