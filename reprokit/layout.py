"""The names of files in run folders, goldens and reports, and reading a JSON object from one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reprokit.regular_file import read_regular

# A run folder.
RECORD = "run.json"
ENVIRONMENT = "environment.json"
CONFIG = "config.yaml"
METRICS = "metrics.jsonl"
TIMING = "timing.jsonl"
TRACE = "trace.jsonl"
RUNTIME = "runtime.json"
#: Of an unmodified program whose places to be killed at were counted: a line each.
PLACES = "places.jsonl"
#: Of an unmodified program that is watched: what the watch saw, and what it saw with another seed.
INSTRUMENT = "instrument.json"
OTHER_SEED = "other-seed.json"
STDOUT = "stdout.log"
STDERR = "stderr.log"
MARKER = "COMPLETE"
SOURCE = "source"
PROGRAM = "source/program"
OUTPUT = "output"
CHECKPOINTS = "checkpoints"
MANIFEST = "MANIFEST.json"
FINAL_MODEL = "final_model.pt"
#: How the names of files end that hold tensors, so far as they can be read without running code.
TENSOR_FILES = (".pt", ".pth", ".bin", ".ckpt", ".safetensors")
SBOM = "sbom.cdx.json"
IMAGE_PROVENANCE = "image-provenance.json"
MOUNTED = ".mounted"  # only as long as a run, or the command that began it, is under way

#: In a virtual environment: byte-code of its packages and of its Python's library, where runs look for it.
BYTE_CODE = "byte-code"

# A golden, besides METRICS and TRACE.
PROVENANCE = "provenance.json"
# The folder of a golden of many seeds, and its file: one line a seed.
ENSEMBLE = "ensemble"
ENSEMBLE_LINES = "ensemble.jsonl"

# A report folder.
REPORT = "report.json"
#: Below the folder of reports: where two sides were compared, and the file of that, which has no verdict.
COMPARISONS = "compare"
COMPARISON = "compare.json"

# A bundle: what is in it.
BUNDLE = "bundle.json"
# A sweep, below the folder of runs.
SWEEPS = "sweeps"
SWEEP = "sweep.json"
#: Of one whose runs are made on other machines, next to its sweep.json: what was asked for; and what each
#: task is to do, what became of it and what it printed.
ASKED = "asked.json"
MACHINES = ".machines"  # below the folder of runs: what machines were asked, and what engines wrote
JOBS = "jobs"
SINKS = ".sinks"  # below the folder of runs: logs of TensorBoard and W&B, written while runs train
#: Of a search, next to its sweep.json.
STUDY = "study.json"

# A recipe, and the lock of a variant.
RECIPE = "recipe.yaml"
LOCK = "requirements.lock"


#: More than any record of ours holds; a program can make a file larger than memory.
_MAX_JSON_BYTES = 256 << 20
#: How many ranks a recipe can have.
RANKS_ALLOWED = range(1, 65)


def rank_trace(rank: int) -> str:
    """The trace of a rank of a run other than the first, whose trace is ``TRACE``."""
    return f"trace.rank{rank}.jsonl"


def traces_of(world_size: int) -> tuple[str, ...]:
    """The traces that a run of so many ranks must have: one a rank, rank 0 first."""
    return (TRACE, *map(rank_trace, range(1, world_size)))


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty when the file is missing, unreadable, too large or holds no object."""
    try:
        content = read_regular(path, most_bytes=_MAX_JSON_BYTES + 1)
        value = json.loads(content) if len(content) <= _MAX_JSON_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
