"""Asking another Python what it computes with, by running the probe in it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from reprokit.capture import probe
from reprokit.capture.python_of_command import start_of

if TYPE_CHECKING:
    from reprokit.core.environment_record import InsideFacts

_TIMEOUT_S = 120.0  # a first import of torch from a cold network disk takes tens of seconds


def capture_interpreter(
    command: Sequence[str], *, with_torch: bool = False, timeout_s: float = _TIMEOUT_S
) -> InsideFacts:
    """What the Python behind a command line says; if it cannot be asked, only ``missing`` with the reason.

    ``with_torch`` lets the probe import torch and numpy (seconds); else it says only what is installed.
    """
    start = start_of(command, folder=Path.cwd())
    if start.unknown:
        return not_asked(start.unknown)
    arguments = [*start.words, str(Path(probe.__file__).resolve()), *(["--torch"] if with_torch else [])]
    try:
        answer = subprocess.run(arguments, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return not_asked(f"the probe took longer than {timeout_s:.0f} s")
    except OSError as error:
        return not_asked(f"the program's Python did not start: {error.strerror}")
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        return not_asked(f"the probe failed in the program's Python: {said[-1] if said else 'no message'}")
    try:
        facts = json.loads(answer.stdout.decode("utf-8", "replace").splitlines()[-1])
    except (ValueError, IndexError):
        return not_asked("the probe's answer was not JSON")
    return (
        cast("InsideFacts", facts)
        if isinstance(facts, dict)
        else not_asked("the probe's answer was not a record")
    )


def find_python(command: Sequence[str]) -> str | None:
    """Path of the Python that a command starts; None where it is not known, or found by a manager alone."""
    start = start_of(command, folder=Path.cwd())
    return start.words[-1] if start.words and not start.is_managed else None


def not_asked(reason: str) -> InsideFacts:
    """What is said of a Python that could not be asked."""
    return {"missing": {"python": reason, "packages": reason}}
