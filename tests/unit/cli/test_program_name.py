"""Commands are printed as they can be typed from here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reprokit.cli.program_name import as_called, called


@pytest.fixture
def typed(monkeypatch, tmp_path):
    """Start the tool by this path, with nothing of its name on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    def start(path: str | Path) -> None:
        monkeypatch.setattr(sys, "argv", [str(path), "reproduce", "x"])

    return start


def test_a_tool_that_is_not_on_the_path_is_named_by_its_path(typed):
    typed(Path.cwd() / ".venv" / "bin" / "reprokit")
    assert as_called("see `reprokit diff A B`, then: reprokit golden promote x") == (
        "see `.venv/bin/reprokit diff A B`, then: .venv/bin/reprokit golden promote x"
    )


def test_words_and_paths_that_are_no_command_stay(typed):
    typed(".venv/bin/reprokit")
    for text in ("see reprokit/checks", "this reprokit reads 1", "x-reprokit run", "bin/reprokit run"):
        assert as_called(text) == text


def test_a_tool_on_the_path_is_named_plainly(typed, tmp_path):
    tool = tmp_path / "reprokit"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    typed(".venv/bin/reprokit")
    assert as_called("reprokit doctor") == "reprokit doctor"


def test_a_package_that_is_run_is_named_with_its_python(typed):
    typed("/somewhere/reprokit/__main__.py")
    assert called().endswith(" -m reprokit")


def test_a_tool_started_by_something_else_is_named_plainly(typed):
    typed("/usr/bin/pytest")
    assert called() == "reprokit"
