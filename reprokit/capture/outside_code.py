"""Code outside a repository that a program can import: what no commit of it says.

>>> outside_code(("python", "train.py"), root=Path("/home/me/theirs"), working_dir=Path("/home/me/theirs"))
{'files': {'helper.py': 'sha256:…'}}
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_CODE = (".py", ".so", ".pyd", ".pth", ".zip", ".egg")
_MOST_ENTRIES = 20_000
_MOST_FILES = 2_000
_MOST_BYTES = 256 << 20
#: Folders of installed packages, which the environment record has by their versions, and of no code.
_SKIPPED = frozenset({"__pycache__", "node_modules"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class _TooMuchError(Exception):
    """There is more than is looked at."""


def outside_code(command: Sequence[str], *, root: Path, working_dir: Path) -> dict[str, Any]:
    """The files of code in the folders of PYTHONPATH, and next to the program, that lie outside a repository.

    Args:
        command: The program as it is started.
        root: The repository, whose own files its commit tells of.
        working_dir: Where the program is started.

    Returns:
        ``files``: name from the folder that it is imported from → SHA-256, that of the first folder counting
        as for Python; ``unknown``: why they were not looked at. Empty where there is no such code.
    """
    top, found = root.resolve(), dict[str, Path]()
    try:
        for place in _places(command, root=top, working_dir=working_dir):
            for name, path in _files(place, root=top):
                found.setdefault(name, path)
        digests = _digests(found)
    except _TooMuchError:
        return {"unknown": f"they hold more than {_MOST_FILES:,} files or {_MOST_BYTES >> 20} MiB of code"}
    except OSError as error:
        return {"unknown": f"they cannot be read: {error.strerror}"}
    return {"files": digests} if digests else {}


def _digests(found: Mapping[str, Path]) -> dict[str, str]:
    if len(found) > _MOST_FILES or sum(path.stat().st_size for path in found.values()) > _MOST_BYTES:
        raise _TooMuchError
    from reprokit.workspace import sha256_of  # noqa: PLC0415  (this package is imported alongside a training, too)

    return {name: sha256_of(path) for name, path in found.items()}


def _places(command: Sequence[str], *, root: Path, working_dir: Path) -> Iterator[Path]:
    """What Python imports from besides what is installed, in its order, where it lies outside."""
    script = next((word for word in command[1:] if word.endswith(".py")), None)
    words = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    named = [*([str(Path(script).parent)] if script else []), *filter(None, words)]
    for place in dict.fromkeys((working_dir / word).resolve() for word in named):
        if not place.is_relative_to(root) and not _INSTALLED.intersection(place.parts):
            yield place


def _files(place: Path, *, root: Path) -> Iterator[tuple[str, Path]]:
    """The files of code below a folder of imports, by their names from it; an archive is one."""
    if place.is_file():
        yield place.name, place
        return
    waiting, left = [place], _MOST_ENTRIES
    while waiting:
        folder = waiting.pop()
        if not folder.is_dir() or folder == root or (folder / "pyvenv.cfg").is_file():
            continue
        for entry in sorted(folder.iterdir()):
            left -= 1
            if left < 0:
                raise _TooMuchError
            if entry.is_dir() and not entry.is_symlink():
                is_code = not entry.name.startswith(".") and entry.name not in {*_SKIPPED, *_INSTALLED}
                waiting += [entry] if is_code else []
            elif entry.suffix in _CODE and entry.is_file():
                yield entry.relative_to(place).as_posix(), entry
