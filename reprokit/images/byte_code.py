"""Byte-code of an environment's packages and its Python's library: taken from another one, else compiled.

What the compiler writes follows from a file's bytes, its place among the packages and the Python alone. So a
file that an earlier environment of the same Python has, too, is not compiled again: its byte-code is copied,
when it is still what was written there. torch with what it needs is 6,000 files, a minute of two processors.

All of it is also where a run looks for it (``PYTHONPYCACHEPREFIX``): in a folder of the environment, which is
listed and compared as every other file is. So a run compiles no package and reads no byte-code that someone
else wrote, that of the Python's library neither.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.images import installed_files
from reprokit.images.subprocesses import run_command
from reprokit.layout import BYTE_CODE
from reprokit.workspace import sha256_of

# Runs in the environment's own Python. What a module says its path is begins at the environment's folder, so
# that equal files have equal byte-code; an import puts the real path in its place. A file that cannot be
# compiled is for another Python (torch ships one for 3.12): it is compiled when it is imported, if ever.
_COMPILE = """
import compileall, concurrent.futures, functools, os, py_compile, sys
folder, *files = sys.stdin.read().split("\\0")
checked = py_compile.PycInvalidationMode.CHECKED_HASH
compiled = functools.partial(compileall.compile_file, quiet=2, stripdir=folder, invalidation_mode=checked)
if sys.version_info < (3, 9):  # has no `stripdir`, and forks, so that a function of this text is known
    def compiled(file):
        place = os.path.dirname(file)
        own = place[len(folder):] if place.startswith(folder + os.sep) else place
        return compileall.compile_file(file, ddir=own.lstrip(os.sep), quiet=2, invalidation_mode=checked)
with concurrent.futures.ProcessPoolExecutor() as pool:
    for _ in pool.map(compiled, files, chunksize=16):
        pass
"""
# Large, and imported by no training.
_SELDOM = frozenset({"idlelib", "tkinter", "turtledemo", "ensurepip", "distutils", "pydoc_data"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """How many files were taken from earlier environments, and how many were compiled."""

    num_taken: int
    num_compiled: int


def write(folder: Path, *, python: str, earlier: Sequence[Path], environment: Mapping[str, str]) -> Written:
    """Write the byte-code of every module of an environment, checked by the hash of its source.

    Args:
        folder: The environment, with its packages installed.
        python: The minor version of its interpreter, ``3.11``.
        earlier: Finished environments of the same interpreter.
        environment: Variables of the compiling process.

    Raises:
        ImageError: The compiling process did not end well.
    """
    known = [(one, files) for one in earlier if (files := installed_files.listed(one))]
    tag = f"cpython-{python.rstrip('t').replace('.', '')}"  # with and without the GIL
    sources = [path for path in sorted((folder / "lib").rglob("*.py")) if not path.is_symlink()]
    left = [path for path in sources if not _taken(path, folder, known, tag=tag)]
    if left:
        _compile(folder, left, environment=environment)
    for source in sources:
        compiled = source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc"
        if compiled.is_file():
            place = _kept(folder, source.parent) / compiled.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            os.link(compiled, place)
    return Written(num_taken=len(sources) - len(left), num_compiled=len(left))


def write_library(
    folder: Path, library: Path, *, earlier: Sequence[Path], environment: Mapping[str, str]
) -> None:
    """Write the byte-code of the library of an environment's Python where its runs look for it.

    Args:
        folder: The environment.
        library: The folder of the library's modules, as that Python names it.
        earlier: Finished environments of the same interpreter.
        environment: Variables of the compiling process.

    Raises:
        ImageError: The compiling process did not end well.
    """
    apart = installed_files.NOT_LIBRARY | _SELDOM
    sources = [
        path
        for path in sorted(library.rglob("*.py"))
        if not path.is_symlink() and not apart & {*path.relative_to(library).parts[:-1]}
    ]
    if not any(_library_taken(folder, library, one, sources) for one in earlier):
        _compile(folder, sources, environment=environment, prefix=folder / BYTE_CODE)


def _library_taken(folder: Path, library: Path, other: Path, sources: Sequence[Path]) -> bool:
    """Copy the byte-code of a library from an environment that was made with the same one; whether it was."""
    known = installed_files.listed(other, what="library_files")
    if any(known.get(str(source.relative_to(library))) != sha256_of(source) for source in sources):
        return False
    own, files = _kept(folder, library), installed_files.listed(other)
    try:
        shutil.copytree(_kept(other, library), own)
        if all(sha256_of(one) == files.get(str(one.relative_to(folder))) for one in own.rglob("*.pyc")):
            return True
    except OSError:  # another process removes that environment
        pass
    shutil.rmtree(own, ignore_errors=True)
    return False


def _kept(folder: Path, sources: Path) -> Path:
    """Where a run in an environment looks for the byte-code of the modules of a folder."""
    return folder / BYTE_CODE / str(sources).lstrip("/")


def _taken(source: Path, folder: Path, known: Sequence[tuple[Path, Mapping[str, str]]], *, tag: str) -> bool:
    """Copy the byte-code of a file from an environment with the same file; whether there is one."""
    name = source.relative_to(folder)
    compiled = name.parent / "__pycache__" / f"{name.stem}.{tag}.pyc"
    content = sha256_of(source) if known else ""
    for other, files in known:
        wanted = files.get(str(compiled))
        if files.get(str(name)) != content or wanted is None:
            continue
        (folder / compiled).parent.mkdir(exist_ok=True)
        try:
            shutil.copyfile(other / compiled, folder / compiled)
        except OSError:  # another process removes that environment
            continue
        if sha256_of(folder / compiled) == wanted:
            return True
        (folder / compiled).unlink()
    return False


def _compile(
    folder: Path, files: Sequence[Path], *, environment: Mapping[str, str], prefix: Path | None = None
) -> None:
    """Compile files in an environment's own Python, next to them or below ``prefix``."""
    with tempfile.TemporaryFile() as names:
        names.write("\0".join([str(folder), *map(str, files)]).encode("utf-8", "surrogateescape"))
        names.seek(0)
        elsewhere = ["-X", f"pycache_prefix={prefix}"] if prefix else []
        command = [str(folder / "bin" / "python"), "-I", *elsewhere, "-c", _COMPILE]
        ended = run_command(command, environment=environment, stdin=names)
    if ended.exit_code:
        raise ImageError(
            f"the packages could not be compiled: exit code {ended.exit_code}",
            where=str(folder),
            actual=ended.last_lines,
            fix="the lines above say why; a full disk is the usual cause (df -h)",
        )
