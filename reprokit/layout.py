"""The names of files in run folders, goldens and reports, and reading a JSON object from one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# A run folder.
RECORD = "run.json"
ENVIRONMENT = "environment.json"
CONFIG = "config.yaml"
METRICS = "metrics.jsonl"
TIMING = "timing.jsonl"
TRACE = "trace.jsonl"
RUNTIME = "runtime.json"
STDOUT = "stdout.log"
STDERR = "stderr.log"
MARKER = "COMPLETE"
SOURCE = "source"
PROGRAM = "source/program"
OUTPUT = "output"
CHECKPOINTS = "checkpoints"
MANIFEST = "MANIFEST.json"
FINAL_MODEL = "final_model.pt"
SBOM = "sbom.cdx.json"
IMAGE_PROVENANCE = "image-provenance.json"

# A golden, besides METRICS and TRACE.
PROVENANCE = "provenance.json"

# A report folder.
REPORT = "report.json"

# A recipe, and the lock of a variant.
RECIPE = "recipe.yaml"
LOCK = "requirements.lock"


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty when the file is missing, unreadable or holds no object."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
