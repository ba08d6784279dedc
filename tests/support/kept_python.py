"""A Python with more packages than the tests', made on the first call and kept in the user's cache.

>>> kept_python("engines", ENGINES / "requirements.lock", on_top=True)
PosixPath('/home/me/.cache/reprokit/engines/on-top-3f2a90c1d7e4/bin/python')
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
LIMIT_S = 3600


class CannotBeMadeError(Exception):
    """The Python that is needed cannot be made on this machine."""


def kept_python(name: str, locked: Path, *, on_top: bool) -> Path:
    """Its interpreter.

    Args:
        name: Of the folder in the cache that holds such Pythons.
        locked: Its packages, with the versions that they are installed in.
        on_top: Whether the packages of this interpreter come after them; else there are no others.

    Raises:
        CannotBeMadeError: With the last words of what made it.
    """
    # Its packages stand on those of this interpreter: another checkout's may be gone tomorrow.
    below = f"{sys.version} {sysconfig.get_path('purelib')}"
    identity = hashlib.sha256(locked.read_bytes() + below.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprokit" / name
    folder = cache / f"{'on-top' if on_top else 'whole'}-{identity}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "COMPLETE").exists():
            _make(folder, locked, on_top=on_top)
    return folder / "bin" / "python"


def kept_byte_code(python: Path) -> dict[str, str]:
    """Variables with which many processes of such a Python compile what they import once, not each."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(python.parents[1] / "byte-code")}


def _make(folder: Path, locked: Path, *, on_top: bool) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _must([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if on_top:
        packages = folder / "lib" / version / "site-packages"
        (packages / "zz_of_the_tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    pip += ["--no-deps", "--no-compile", "--ignore-installed", "--disable-pip-version-check"]
    pip += ["--require-hashes"] if "--hash=" in locked.read_text() else []
    _must([*pip, *_torch_index(), "--requirement", str(locked)])
    (folder / "COMPLETE").touch()


def _torch_index() -> list[str]:
    """Where the Makefile says that PyTorch's builds without CUDA are."""
    (options,) = re.findall(r"^TORCH_INDEX := (.*)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    return options.split()


def _must(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise CannotBeMadeError(f"{' '.join(command[1:4])}: exit {done.returncode}, {last}")
