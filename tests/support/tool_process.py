"""The tool in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TERMINAL = 80  # columns


def reprokit(*arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None, **streams):
    """The tool in a process of its own, as a shell starts it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(TERMINAL), **(env or {})}
    defaults = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 120}
    return subprocess.run(
        [sys.executable, "-m", "reprokit", *arguments],
        check=False,
        env=environment,
        cwd=cwd,
        **{**defaults, **streams},
    )
