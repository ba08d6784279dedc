"""A command with its temporary folder in memory: no disk writes and frees what is removed in the end anyhow.

The file system is mounted where no other process sees it, and is gone with the command, however that ends.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

_MEMORY = Path("/proc/meminfo")
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
_MOUNT = 'mount -t tmpfs -o "size=$1,mode=0755" none "$2" && export TMPDIR="$2" && shift 2 && exec "$@"'


def with_folder_in_memory(command: Sequence[str], folder: Path, *, needs_bytes: int) -> list[str]:
    """The command with ``folder`` in memory as its TMPDIR; as it is where that cannot be had.

    Args:
        command: What is to be run.
        folder: An empty folder.
        needs_bytes: As much must fit into half of the memory that is free.
    """
    half = _available_bytes() // 2
    if half < needs_bytes or shutil.which("unshare") is None:
        return list(command)
    mounted = ["unshare", "--mount", "sh", "-c", _MOUNT, "sh", str(half), str(folder)]
    can_mount = subprocess.run([*mounted, "true"], capture_output=True, check=False).returncode == 0
    return [*mounted, *command] if can_mount else list(command)


def _available_bytes() -> int:
    found = _AVAILABLE.search(_MEMORY.read_text("ascii")) if _MEMORY.is_file() else None
    return int(found[1]) * 1024 if found else 0
