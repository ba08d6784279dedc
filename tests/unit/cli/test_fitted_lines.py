"""Lines that a terminal gets broken between words, and a pipe as they are."""

from __future__ import annotations

import os

import click
import pytest

from reprokit import cli
from reprokit.cli.output import fitted_lines
from support.terminal import Terminal

SENTENCE = "The gate can be trusted: 13 of 13 faults led to their verdict, 5 of 5 clean copies to REPRODUCED."
COMMAND = "  reprokit verify --selftest-only train --faults-seed 0 --fault nan/both/sealed/3"


def test_a_sentence_is_broken_and_a_command_continues_after_a_backslash(on_terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    _, screen = on_terminal(lambda: click.echo("\n".join(fitted_lines([SENTENCE, COMMAND]))))
    lines = screen.splitlines()
    assert max(map(len, lines)) <= 40
    assert screen.replace("\n", " ").startswith(SENTENCE)
    assert all(
        line.endswith(" \\") for line in lines[lines.index("  reprokit verify --selftest-only \\") : -1]
    )


def test_a_pipe_gets_them_whole(capsys):
    assert list(fitted_lines([SENTENCE, COMMAND])) == [SENTENCE, COMMAND]


def test_a_usage_error_is_broken_on_a_terminal(monkeypatch):
    monkeypatch.setattr("shutil.get_terminal_size", lambda *_, **__: os.terminal_size((60, 24)))
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with pytest.raises(SystemExit) as ended:
        cli.main(["reproduce", "train", "--setx"])
    assert ended.value.code == 2
    assert max(map(len, screen.getvalue().splitlines())) <= 60
    assert "Did you mean" in " ".join(screen.getvalue().split())


def test_the_help_fits_80_columns(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
