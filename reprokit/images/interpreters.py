"""The CPythons of this host, by their minor version: on the path, of pyenv, of uv, of conda.

>>> find_interpreter("3.10", fetch=False, on_progress=print)
Interpreter(version='3.10.13', minor='3.10', path='/home/me/.pyenv/versions/3.10.13/bin/python3.10')
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.images.cache import Progress
from reprokit.images.subprocesses import uv_program

#: Those that programs may have, the lowest first.
SUPPORTED = tuple(f"3.{minor}" for minor in range(8, 16))
# What an interpreter says of itself, in the words of Python 3.8.
_DESCRIBE = (
    "import json, os, platform, sys, sysconfig; print(json.dumps({'version': platform.python_version(), "
    "'minor': '%d.%d' % sys.version_info[:2] + ('t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''), "
    "'implementation': platform.python_implementation(), 'path': os.path.realpath(sys.executable)}))"
)
_ASKED_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A CPython on this host: full version, minor version (``3.13t`` without the GIL), real path."""

    version: str
    minor: str
    path: str


def find_interpreter(python: str, *, fetch: bool, on_progress: Progress) -> Interpreter:
    """A CPython of that minor version: the one that runs this, another of this host, or one that uv fetches.

    Args:
        python: ``3.12``; ``3.14t`` for a build without the GIL.
        fetch: Whether uv may fetch one that is not here.
        on_progress: Told that one is fetched.

    Raises:
        ImageError: There is none; the message says how to get one.
    """
    found = on_this_host(python)
    if found is None and fetch:
        on_progress(f"no Python {python} on this host: uv fetches one")
        said = _uv("install", python)
        found = on_this_host(python)
        if found is None:
            what = f"uv could not fetch Python {python}"
            raise ImageError(what, actual=said.strip().rpartition("\n")[2] or "nothing that works")
    if found is None:
        raise ImageError(
            f"the environment needs Python {python}, and this host has none that works",
            expected=f"a CPython {python} on the path, of pyenv, of uv or of conda",
            fix=f"`uv python install {python}`, `pyenv install {python}` or the distribution's package; "
            "`reprokit init` and `reprokit image lock` have uv fetch it with --fetch-python",
        )
    return found


def on_this_host(python: str) -> Interpreter | None:
    """A CPython of that minor version that is here and runs; None where there is none."""
    if python == _own_minor() and sys.implementation.name == "cpython":
        return Interpreter(
            version=sys.version.split()[0], minor=python, path=os.path.realpath(sys.executable)
        )
    asked = (describe([path]) for path in _candidates(python))
    return next((one for one in asked if one is not None and one.minor == python), None)


def describe(command: Sequence[str], *, folder: Path | None = None) -> Interpreter | None:
    """Ask an interpreter who it is; None where it does not run (a shim) or is no CPython."""
    try:
        done = subprocess.run(
            [*command, "-I", "-c", _DESCRIBE],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=_ASKED_S,
        )
        facts = json.loads(done.stdout)
        if facts["implementation"] != "CPython":
            return None
        return Interpreter(version=facts["version"], minor=facts["minor"], path=facts["path"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None


def of_uv(python: str = "", *, folder: Path | None = None) -> str:
    """The path of the interpreter that uv takes, of what is on this host; "" where it has none."""
    return _uv("find", "--no-python-downloads", *filter(None, (python,)), folder=folder)


def _candidates(python: str) -> Iterator[str]:
    """Paths of what may be one, the likeliest first."""
    plain, threads = python.rstrip("t"), python.endswith("t")
    for name in (f"python{python}", "python3", "python"):
        if path := shutil.which(name):
            yield path
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    named = (path for path in versions.glob(f"{plain}.*") if path.name.endswith("t") == threads)
    yield from (str(path / "bin" / "python") for path in sorted(named, key=_by_patch, reverse=True))
    if path := of_uv(python):
        yield path
    yield from (str(folder / "bin" / "python") for folder in _of_conda())


def _of_conda() -> Iterator[Path]:
    """The environments that conda knows of."""
    if active := os.environ.get("CONDA_PREFIX"):
        yield Path(active)
    try:
        listed = (Path.home() / ".conda" / "environments.txt").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    yield from (Path(line) for line in listed if line.startswith("/"))


def _by_patch(path: Path) -> int:
    found = re.fullmatch(r"\d+\.\d+\.(\d+).*", path.name)
    return int(found[1]) if found else -1


def _own_minor() -> str:
    major, minor = sys.version_info[:2]
    return f"{major}.{minor}{'t' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''}"


def _uv(verb: str, *arguments: str, folder: Path | None = None) -> str:
    """What uv prints; for ``install``, what it says."""
    command = [uv_program(), "python", verb, *([] if folder else ["--no-config"]), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if verb == "install":
        return done.stderr.strip()
    return done.stdout.strip() if not done.returncode else ""
