"""The tool called in this process."""

from __future__ import annotations

import importlib
import signal

import click
import pytest

from reprokit import cli
from support.terminal import on_terminal

__all__ = ["end", "on_terminal"]


@pytest.fixture
def end(monkeypatch):
    """Run the tool in this process, with a verb ``diff`` that does as told; the exit code comes back."""

    def call(what, *arguments: str) -> int:
        def callback() -> int:
            if isinstance(what, BaseException):
                raise what
            return what

        command = click.Command("diff", callback=callback)
        module = importlib.import_module("reprokit.cli.commands.diff")
        monkeypatch.setattr(module, "command", command)
        before = {number: signal.getsignal(number) for number in cli._ENDING}
        try:
            with pytest.raises(SystemExit) as ended:
                cli.main(["diff", *arguments])
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return ended.value.code

    return call
