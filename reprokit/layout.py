"""The names of files in run folders and goldens, and reading a JSON object from one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

METRICS = "metrics.jsonl"
TRACE = "trace.jsonl"


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a run folder; empty when it is missing or unreadable."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
