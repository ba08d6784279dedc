"""Byte-code of an environment's packages: taken from an environment that has the same source, else compiled.

What the compiler writes follows from a file's bytes, its place among the packages and the Python alone. So a
file that an earlier environment of the same Python has, too, is not compiled again: its byte-code is copied,
when it is still what was written there. torch with what it needs is 6,000 files, a minute of two processors.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.images import installed_files
from reprokit.images.subprocesses import run_command
from reprokit.workspace import sha256_of

# Runs in the environment's own Python. What a module says its path is begins at the environment's folder, so
# that equal files have equal byte-code; an import puts the real path in its place. A file that cannot be
# compiled is for another Python (torch ships one for 3.12): it is compiled when it is imported, if ever.
_COMPILE = """
import compileall, concurrent.futures, functools, os, py_compile, sys
folder, *files = sys.stdin.read().split("\\0")
compiled = functools.partial(compileall.compile_file, quiet=2, stripdir=folder,
                             invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
with concurrent.futures.ProcessPoolExecutor() as pool:
    for _ in pool.map(compiled, files, chunksize=16):
        pass
"""


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
    tag = f"cpython-{python.replace('.', '')}"
    sources = [path for path in sorted((folder / "lib").rglob("*.py")) if not path.is_symlink()]
    left = [path for path in sources if not _taken(path, folder, known, tag=tag)]
    if left:
        _compile(folder, left, environment=environment)
    return Written(num_taken=len(sources) - len(left), num_compiled=len(left))


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


def _compile(folder: Path, files: Sequence[Path], *, environment: Mapping[str, str]) -> None:
    with tempfile.TemporaryFile() as names:
        names.write("\0".join([str(folder), *map(str, files)]).encode("utf-8", "surrogateescape"))
        names.seek(0)
        command = [str(folder / "bin" / "python"), "-I", "-c", _COMPILE]
        ended = run_command(command, environment=environment, stdin=names)
    if ended.exit_code:
        raise ImageError(
            f"the packages could not be compiled: exit code {ended.exit_code}",
            where=str(folder),
            actual=ended.last_lines,
            fix="the lines above say why; a full disk is the usual cause (df -h)",
        )
