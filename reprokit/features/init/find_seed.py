"""Where a program without an option for its seed may have it: in a configuration file.

>>> seed_in_files(Path("."), ["configs/train.yaml"])
'configs/train.yaml, line 3'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from reprokit.regular_file import read_regular

_CONFIGURATION = {".yaml", ".yml", ".toml", ".json", ".ini", ".cfg"}
_SEED = re.compile(
    r"""^[\s{,]*["']?(?:[A-Za-z]+[_-])*(?:seed|random_state)["']?\s*[:=]\s*\d+\b""", re.MULTILINE
)
_MOST_BYTES = 1 << 20


def seed_in_files(root: Path, files: Iterable[str]) -> str:
    """The first of these files that sets a seed, with its line; "" where none does.

    Args:
        root: The project's folder.
        files: Below it; those that the command names first. Others than configuration files are passed over.
    """
    for name in files:
        if Path(name).suffix not in _CONFIGURATION:
            continue
        try:
            text = read_regular(root / name, most_bytes=_MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        if found := _SEED.search(text):
            line = text.count("\n", 0, found.end()) + 1
            return f"{name}, line {line}"
    return ""
