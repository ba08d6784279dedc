"""Which code of a pinned program on this host came neither from its environment nor from its own folders.

The system's shared libraries and programs are the host's, as its kernel is: the environment record has the C
library, and git, a compiler or nvidia-smi trains nothing. Packages and interpreters of the system are not.

    >>> judged({"opened": [["opened", "/opt/helper.py", "/usr/bin/python3.11"]], "unknown": ""}, python=[])
    {'files': {'/opt/helper.py': 'sha256:…'}}
"""

from __future__ import annotations

import contextlib
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.workspace import sha256_of

#: What the tool itself puts next to a program: the hook, and what starts it under other conditions.
OURS = (
    str(Path(__file__).parent.parent / "instrumentation"),
    str(Path(__file__).with_name("varied_start.py")),
)
#: What of a file of code is told; other things are told of files of other runs.
_AS_CODE = {"started", "opened"}
_MOST_FILES, _MOST_BYTES = 2_000, 256 << 20
_STORES = ("/nix/store/", "/gnu/store/")
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/", *_STORES)
_LIBRARY = re.compile(r"(?:/usr)?/lib(?:32|64|x32)?/.*|/usr/local/nvidia/.*|/(?:nix|gnu)/store/.*")
_OF_PYTHON = re.compile(r".*/(?:(?:site|dist)-packages|(?:python|pypy)[\d.]+t?)/.*")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?")
_SHARED = re.compile(r".+\.so(?:\.[\d.]+)?")
#: Scripts of the system's Python that libraries start to ask what system this is.
_TOOLS = frozenset({"lsb_release"})
_ARCHIVES = (".zip", ".egg", ".whl", ".pyz")
_TEXT_BYTES = 1024


def libraries_of(python: str) -> list[str]:
    """The folders of the library of an environment's Python, from where that Python lies."""
    real = Path(python).resolve()
    homes = [real.parent.parent]
    with contextlib.suppress(OSError):
        for line in (Path(python).parent.parent / "pyvenv.cfg").read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            homes += [Path(value.strip()).parent] if name.strip() == "home" else []
    folders = (folder for home in dict.fromkeys(homes) for folder in home.glob("lib*/python3.*"))
    return [str(folder) for folder in folders if _is_of(folder, real)]


def judged(facts: Mapping[str, Any], *, python: Sequence[str]) -> dict[str, Any]:
    """What is not the program's own, of what its guard reported.

    Args:
        facts: ``opened`` and ``unknown``, as ``OpenedCode`` has them.
        python: The folders of the library of the program's Python.

    Returns:
        ``files``: path → SHA-256, "" where it can no longer be read; ``unknown``: why there may be more.
        Both are left out where they would be empty.
    """
    if "opened" not in facts:
        return {"unknown": "the guard of the program was ended before it could say"}
    unknown = str(facts["unknown"])
    used = [one for one in facts["opened"] if one[0] in _AS_CODE]
    names = sorted({name for one in used for name in _foreign(*one, python=python)})
    if len(names) > _MOST_FILES:
        unknown = f"there is more than {_MOST_FILES:,} files of code from elsewhere"
    files, left = {}, _MOST_BYTES
    for name in names[:_MOST_FILES]:
        with contextlib.suppress(OSError):
            left -= Path(name).stat().st_size
        if left < 0 and not unknown:
            unknown = f"there is more than {_MOST_BYTES >> 20} MiB of code from elsewhere"
        files[name] = _digest(name) if left >= 0 else ""
    return {**({"files": files} if files else {}), **({"unknown": unknown} if unknown else {})}


def _foreign(what: str, path: str, program: str, *, python: Sequence[str]) -> Iterator[str]:
    """The name under which a file counts as not the program's own; nothing where it does not."""
    if what == "started":
        is_system = path.startswith(_SYSTEM) and not _OF_PYTHON.fullmatch(path)
        if not is_system or _PYTHON.fullmatch(Path(path).name) or _is_script_of_python(path):
            yield path
        return
    is_of_tool = _is_tool(program) and path.startswith((*_SYSTEM, "/etc/"))
    if not (is_of_tool or _is_of_system(path, python) or _is_data(path)):
        yield _source_of(path)


def _is_of_system(path: str, python: Sequence[str]) -> bool:
    """Whether a file is a shared library of the system, or next to the library of the program's Python."""
    if not _SHARED.fullmatch(path) or _OF_PYTHON.fullmatch(path):
        return False
    beside = any(os.path.dirname(folder) == os.path.dirname(path) for folder in python)  # noqa: PTH120
    is_shared_prefix = path.startswith("/usr/local/") and not Path(path).name.startswith("libpython")
    return bool(_LIBRARY.fullmatch(path)) or (beside and not is_shared_prefix)


def _is_tool(program: str) -> bool:
    """Whether a program is the system's and no Python; nor its loader, which runs any that it is given."""
    name = Path(program).name
    runs_others = _SHARED.fullmatch(name) or _is_any_python(program, name)
    return program.startswith(_SYSTEM) and (name in _TOOLS or not runs_others)


def _is_any_python(program: str, name: str) -> bool:
    return bool(_PYTHON.fullmatch(name)) or _is_script_of_python(program)


def _is_script_of_python(path: str) -> bool:
    if Path(path).name in _TOOLS:
        return False
    try:
        with Path(path).open("rb") as file:
            first = file.readline(256)
    except OSError:
        return False
    return first.startswith(b"#!") and any(
        _PYTHON.fullmatch(word.rpartition("/")[2]) for word in os.fsdecode(first[2:]).split()
    )


def _is_data(path: str) -> bool:
    """Whether a file that is named as code is none: an archive without any, or weights in a ``.pth``."""
    try:
        if path.endswith(_ARCHIVES):
            with zipfile.ZipFile(path) as archive:
                return not any(name.endswith((".py", ".pyc")) for name in archive.namelist())
        if path.endswith(".pth"):
            with Path(path).open("rb") as file:
                return b"\0" in file.read(_TEXT_BYTES)
    except (OSError, zipfile.BadZipFile, ValueError):
        return path.endswith(_ARCHIVES)
    return False


def _source_of(path: str) -> str:
    """The source that Python's byte-code was made of, where it lies next to it."""
    file = Path(path)
    if file.suffix == ".pyc" and file.parent.name == "__pycache__":
        source = file.parent.parent / f"{file.name.partition('.')[0]}.py"
        return str(source) if source.is_file() else path
    return path


def _digest(path: str) -> str:
    try:
        return sha256_of(Path(path))
    except OSError:
        return ""


def _is_of(folder: Path, python: Path) -> bool:
    """Whether a folder ``python3.12`` is the library of a Python of that name."""
    name = re.fullmatch(r"(?:python|pypy)(\d+\.\d+)t?", python.name)
    return name is None or folder.name.startswith(f"python{name[1]}")
