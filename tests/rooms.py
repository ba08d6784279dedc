"""Where the tests of one room are: a package of reprokit, by its path or its last name, or a verb.

    python tests/rooms.py diagnose    the paths, one a line; exit code 2 for a room that is not there

Found by names alone: folders of ``tests/unit`` that are called like the room, and files with its name in
theirs, whatever the ending (``diagnose``, ``diagnosing`` and ``diagnosis`` are one); of a verb also the files
that import the function of its name.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from reprokit import cli

ROOT = Path(__file__).resolve().parents[1]
UNIT = ROOT / "tests" / "unit"


def packages(root: Path = ROOT) -> set[str]:
    """Every package below ``reprokit``, as a path: ``harness/judging``."""
    top = root / "reprokit"
    return {path.parent.relative_to(top).as_posix() for path in top.rglob("__init__.py")} - {"."}


def verbs() -> set[str]:
    """Every verb that a person can type."""
    return set(cli.verbs())


def rooms() -> list[str]:
    """All that has tests and can be named: packages, folders of tests, verbs."""
    folders = {path.parent.relative_to(UNIT).as_posix() for path in UNIT.rglob("test_*.py")} - {"."}
    return sorted(one for one in {*packages(), *folders, *verbs()} if places_of(one))


def places_of(room: str, *, unit: Path = UNIT) -> list[Path]:
    """Folders and files of a room's tests; none that lies in another one of them."""
    room = room.strip("/").replace(".", "/").removeprefix("reprokit/")
    if "/" in room:
        return [unit / room] if any((unit / room).rglob("test_*.py")) else []
    files = sorted(unit.rglob("test_*.py"))
    found = {*_named(room, files, unit)}
    if room in verbs():
        found |= {file for file in files if room in _imported(file)}
    return list(_outermost(found))


def _named(room: str, files: list[Path], unit: Path) -> Iterable[Path]:
    wanted = _stem(room)
    for file in files:
        folders = [one for one in file.parents if one.is_relative_to(unit) and one != unit]
        yield from (one for one in folders if _stem(one.name) == wanted)
        if re.search(rf"_{re.escape(wanted)}(?:_|$)", _stems(file.stem)):
            yield file


@functools.cache
def _imported(file: Path) -> set[str]:
    """Names that a file of tests imports from reprokit."""
    lists = re.findall(r"^from reprokit[\w.]* import (\([^)]*\)|.*)$", file.read_text(), re.MULTILINE)
    return {name for one in lists for name in re.findall(r"\w+", one)}


def _outermost(paths: Iterable[Path]) -> Iterable[Path]:
    found = sorted(set(paths))
    return (one for one in found if not any(other in one.parents for other in found))


def _stems(name: str) -> str:
    return "_".join(map(_stem, name.split("_")))


def _stem(word: str) -> str:
    """A word without the ending by which a verb, its noun and its folder differ."""
    return re.sub(r"(?<=\w{3})(?:ies|ing|ers|is|es|er|e|s|y)$", "", word.replace("-", "_"))


def main(words: list[str]) -> int:
    """Print the paths of one room's tests."""
    if len(words) == 1 and (found := places_of(words[0])):
        print("\n".join(str(path.relative_to(ROOT)) for path in found))
        return 0
    told = f"there is no room {words[0]!r} with tests" if words else "name a room"
    print(f"{told}. Rooms: {', '.join(rooms())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
