"""What conda has installed in an environment, as ``conda list --explicit`` says it, without conda.

>>> explicit_list(Path("/home/me/miniforge3/envs/theirs")).splitlines()
['@EXPLICIT', 'https://conda.anaconda.org/conda-forge/linux-64/numpy-1.26.4-py311h64a7726_0.conda#a502d7aa…']
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprokit.capture.python_of_command import start_of

_ASKED_S = 30


def explicit_list(prefix: Path) -> str:
    """The address of every package with its MD5, for ``conda create --file``; "" for no environment of conda.

    Args:
        prefix: The environment's folder.
    """
    lines = sorted(_lines(prefix))
    return "".join(f"{line}\n" for line in ("@EXPLICIT", *lines)) if lines else ""


def prefix_of(command: Sequence[str], *, folder: Path) -> Path:
    """The environment's folder of the Python that a command starts where it is typed."""
    words = start_of(command, folder=folder).words or ("python",)
    asked = [*words, "-I", "-c", "import sys; print(sys.prefix)"]
    try:
        done = subprocess.run(
            asked,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=_ASKED_S,
        )
    except (OSError, subprocess.SubprocessError):
        return Path(os.environ.get("CONDA_PREFIX", os.devnull))
    return Path(done.stdout.strip())


def _lines(prefix: Path) -> Iterator[str]:
    for record in (prefix / "conda-meta").glob("*.json"):
        try:
            facts = json.loads(record.read_text("utf-8"))
        except (OSError, ValueError):
            yield f"# {record.name} cannot be read"
            continue
        if isinstance(facts, dict) and facts.get("url"):
            digest = f"#{facts['md5']}" if facts.get("md5") else ""
            yield f"{facts['url']}{digest}"
