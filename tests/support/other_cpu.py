"""A machine that says it has another CPU: the same one, which shows another file as ``/proc/cpuinfo``.

Only the name is another; it computes as before. Needs root, and a mount namespace of its own.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

_SHOW = 'mount --bind "$0" /proc/cpuinfo && exec "$@"'


def named(folder: Path, name: str) -> list[str]:
    """What begins the command line of a process that is to see a CPU of this name; skips where it cannot."""
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines(keepends=True)
    told = [f"model name\t: {name}\n" if line.startswith("model name") else line for line in lines]
    file = folder / "cpuinfo"
    file.write_text("".join(told), encoding="ascii")
    prefix = ["unshare", "--mount", "sh", "-c", _SHOW, str(file)]
    look = [*prefix, "grep", "-m1", "model name", "/proc/cpuinfo"]
    tried = subprocess.run(look, capture_output=True, check=False)
    if name.encode() not in tried.stdout:
        problem = "another /proc/cpuinfo cannot be shown here: it needs root and a mount namespace"
        if os.environ.get("REPROKIT_REQUIRE_ENGINE") == "1":
            pytest.fail(problem)
        pytest.skip(problem)
    return prefix
