"""A program of a test, run under the hook in an interpreter of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reprokit import instrumentation

HOOK = Path(instrumentation.__file__).parent


def run_hooked(
    folder: Path,
    source: str,
    *,
    out: Path,
    packages: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
    **orders: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end.

    Args:
        folder: Where it is written and started.
        source: The program.
        out: A new folder for its trace.
        packages: A folder of modules that it can import next to the hook.
        variables: More of its environment.
        orders: What the hook is told next to ``out`` and ``key``.
    """
    out.mkdir()
    (folder / "program.py").write_text(source)
    (folder / "orders.json").write_text(json.dumps({"out": str(out), "key": "a"} | orders))
    paths = os.pathsep.join(map(str, [HOOK, *([packages] if packages else [])]))
    hook = {"PYTHONPATH": paths, "REPROKIT_HOOK": str(folder / "orders.json")}
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,  # of a machine that does much else
        env={**os.environ, **hook, **variables},
    )
