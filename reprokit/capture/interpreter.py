"""Asking another Python what it computes with, by running the probe in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reprokit.capture import probe

_PYTHON = re.compile(r"^(?:python|pypy)\d*(?:\.\d+)*t?$")
_TIMEOUT_S = 120.0  # a first import of torch from a cold network disk takes tens of seconds
_LONGEST_SHEBANG = 512


def capture_interpreter(
    command: Sequence[str], *, with_torch: bool = False, timeout_s: float = _TIMEOUT_S
) -> dict[str, Any]:
    """What the Python behind a command line says; if it cannot be asked, only ``missing`` with the reason.

    ``with_torch`` lets the probe import torch and numpy (seconds); else it says only what is installed.
    """
    python = find_python(command)
    if python is None:
        name = Path(command[0]).name if command else "an empty command"
        return _not_asked(f"{name} is no Python, nor a script whose first line names one")
    arguments = [python, str(Path(probe.__file__).resolve()), *(["--torch"] if with_torch else [])]
    try:
        answer = subprocess.run(arguments, capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return _not_asked(f"the probe took longer than {timeout_s:.0f} s")
    except OSError as error:
        return _not_asked(f"the program's Python did not start: {error.strerror}")
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        return _not_asked(f"the probe failed in the program's Python: {said[-1] if said else 'no message'}")
    try:
        facts = json.loads(answer.stdout.decode("utf-8", "replace").splitlines()[-1])
    except (ValueError, IndexError):
        return _not_asked("the probe's answer was not JSON")
    return facts if isinstance(facts, dict) else _not_asked("the probe's answer was no record")


def find_python(command: Sequence[str]) -> str | None:
    """Path of the Python that a command starts: its first word, or its script's first line."""
    program = shutil.which(command[0]) if command else None
    if program is None:
        return None
    if _PYTHON.match(Path(command[0]).name):
        return program
    try:
        with Path(program).open("rb") as stream:
            first = stream.readline(_LONGEST_SHEBANG)
    except OSError:
        return None
    if not first.startswith(b"#!"):
        return None
    words = first[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    return shutil.which(words[0]) if words and _PYTHON.match(Path(words[0]).name) else None


def _not_asked(reason: str) -> dict[str, Any]:
    return {"missing": {"python": reason, "packages": reason}}
