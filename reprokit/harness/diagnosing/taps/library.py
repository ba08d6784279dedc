"""The library of taps: the one that a wheel for this kind of machine brings, or one built from source.

>>> find_library(cache_folder(None)).path
PosixPath('/home/me/.cache/reprokit/taps/2c0e…/taps.so')
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import ReprokitError
from reprokit.images.cache import cache_folder

SOURCE = Path(__file__).parent / "taps.c"
#: What a wheel for one kind of machine brings; see ``setup.py``.
BROUGHT = Path(__file__).parent / "taps.so"
NAME = "taps.so"
OPTIONS = ("-shared", "-fPIC", "-O2", "-fasynchronous-unwind-tables")
_LIBRARIES = ("-ldl", "-lpthread")  # parts of libc from glibc 2.34 on
_BUILD_S = 120.0
_DIGEST = "sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """Where the library is; or why there is none.

    Attributes:
        path: The file, or None.
        digest: Of its bytes.
        problem: Why there is none; "" where there is one.
    """

    path: Path | None = None
    digest: str = ""
    problem: str = ""


def find_library(cache: Path) -> Library:
    """The library that the package brings, or that was built here before; else it is built.

    A file that is not what was built counts as none: it is built again.

    Args:
        cache: The tool's cache.
    """
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return Library(problem="they need Linux with glibc")
    if BROUGHT.is_file():
        return _that_loads(BROUGHT)
    problem = "this machine has no C compiler (cc, gcc, clang, or the package ziglang)"
    for command in _compilers():
        try:
            return _built(command, cache / "taps")
        except (OSError, subprocess.SubprocessError) as error:
            problem = f"{shlex.join(command)} does not build them: {_last_line(error)}"
    return Library(problem=problem)


def library_here() -> Library:
    """The library, with the tool's own cache; where even that cannot be had, that is the problem."""
    try:
        return find_library(cache_folder(None))
    except (ReprokitError, OSError) as error:
        return Library(problem=str(error).splitlines()[0])


def _compilers() -> Iterator[tuple[str, ...]]:
    """The compiler that the caller names, then those that systems have."""
    named = shlex.split(os.environ.get("CC", ""))
    for command in (named, ["cc"], ["gcc"], ["clang"]):
        if command and shutil.which(command[0]):
            yield tuple(command)
    if importlib.util.find_spec("ziglang") is not None:
        yield (sys.executable, "-I", "-m", "ziglang", "cc")


def _built(command: Sequence[str], cache: Path) -> Library:
    """The library as this compiler makes it, in a folder that is named by source and compiler."""
    told = _answer([*command, "--version"])
    words = "\0".join([*command, *OPTIONS, told]).encode()
    folder = cache / hashlib.sha256(SOURCE.read_bytes() + words).hexdigest()[:16]
    path, noted = folder / NAME, folder / _DIGEST
    if path.is_file() and noted.is_file() and noted.read_text(encoding="ascii") == _digest_of(path):
        return _that_loads(path)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".") as made:
        new = Path(made) / NAME
        _answer([*command, *OPTIONS, "-o", str(new), str(SOURCE), *_LIBRARIES])
        (Path(made) / _DIGEST).write_text(_digest_of(new), encoding="ascii")
        folder.mkdir(exist_ok=True)
        for name in (NAME, _DIGEST):
            (Path(made) / name).replace(folder / name)
    return _that_loads(path)


def _that_loads(path: Path) -> Library:
    """The library, where a process shows that it loads."""
    if {" ", ":"} & set(str(path)):
        return Library(problem=f"the linker loads no path with a blank or a colon: {path}")
    with tempfile.TemporaryDirectory(prefix="reprokit-") as folder:
        variables = {**os.environ, "LD_PRELOAD": str(path), "REPROKIT_TAPS": folder}
        variables.pop("REPROKIT_HOOK", None)
        command = [sys.executable, "-I", "-S", "-c", "pass"]
        done = subprocess.run(command, env=variables, capture_output=True, timeout=_BUILD_S, check=False)
        if done.returncode or not list(Path(folder).glob("taps-*.bin")):
            return Library(problem=f"{path} does not load: {done.stderr.decode(errors='replace')[-200:]}")
    return Library(path=path, digest=_digest_of(path))


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _answer(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_S, check=True)
    return done.stdout


def _last_line(error: Exception) -> str:
    text = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
    return (text.strip().splitlines() or ["no reason given"])[-1][:200]
