"""A stream that is a terminal of 40 columns, for what is printed otherwise on one."""

from __future__ import annotations

import contextlib
import io
import os

import pytest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """Call something with a terminal of 40 columns; its result and the screen come back."""
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((40, 24)))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)

    def call(what, *arguments, **options):
        with contextlib.redirect_stdout(Terminal()) as screen:
            result = what(*arguments, **options)
        return result, screen.getvalue()

    return call
