"""The program with a planted fault that is trained before a person, and what was found in it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from reprokit.harness.running import shell_line

PROGRAM = "train.py"
_SOURCE = Path(__file__).resolve().parent / "programs" / PROGRAM
#: What the line of the fault has, and no other one.
_FAULT = "default_rng()"


def begin(folder: Path) -> None:
    """Put the program into a new folder, which is a project of its own whatever lies above it."""
    folder.mkdir()
    shutil.copyfile(_SOURCE, folder / PROGRAM)
    (folder / "pyproject.toml").write_text("[tool.reprokit]\n", encoding="utf-8")


def command() -> list[str]:
    """The program's command line; its Python is the tool's, which has numpy."""
    name = Path(sys.executable).name
    python = name if shutil.which(name) == sys.executable else sys.executable
    return [python, PROGRAM, "--seed", "{seed}", "--logdir", "{run_dir}"]


def as_typed(words: Sequence[str]) -> str:
    """The words as a shell takes them."""
    return shell_line(words)


def planted_line() -> int:
    """The number of the line with the fault."""
    lines = _SOURCE.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if _FAULT in line)


def found_line(folder: Path) -> int | None:
    """The number of the line that `diagnose` named; None where it named none."""
    (answer,) = folder.glob("reports/*/*/diagnosis.json")
    cause = json.loads(answer.read_text(encoding="utf-8"))["cause"]
    line: int | None = cause and cause["line"]
    return line
