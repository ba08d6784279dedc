"""Reads a requirements file of pip: names, hashes, files that it includes, wheels, the repository itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.features.locking import project_file
from reprokit.features.locking.dependencies import (
    Dependencies,
    Wanted,
    combined,
    file_of_repository,
    not_pinned,
    requirement,
)
from reprokit.images.packages import logical_lines, read_text

_HASH = re.compile(r"--hash[= ](sha256:[0-9a-f]{64})")
_ADDRESS = re.compile(r"(?:git|hg|svn|bzr)\+|[a-z][a-z0-9+.-]*://")
_OPTION = re.compile(r"(--?[a-z-]+)(?:\s*=\s*|\s+|$)(.*)")
_INDEX = {"-i", "--index-url", "--extra-index-url"}
_INCLUDES, _CONSTRAINS = {"-r", "--requirement"}, {"-c", "--constraint"}
_EDITABLE = {"-e", "--editable"}
#: Options that say how pip installs, and nothing about what.
_WITHOUT_MEANING = {"--pre", "--prefer-binary", "--require-hashes", "--no-binary", "--only-binary"}


def read_requirements(path: Path, *, root: Path, wanted: Wanted) -> Dependencies:
    """Read a requirements file, and those that it includes.

    Raises:
        ImageError: A line is unknown, or names something that cannot be pinned.
    """
    return combined(_read(path, root=root, wanted=wanted, seen=()))


def parse_lines(text: str, *, base: Path, name: str, root: Path, wanted: Wanted) -> Dependencies:
    """The same from text, with paths relative to ``base``; ``name`` is the file's, for messages."""
    return combined(_lines(text, base=base, name=name, root=root, wanted=wanted, seen=()))


def _read(path: Path, *, root: Path, wanted: Wanted, seen: tuple[Path, ...]) -> Iterator[Dependencies]:
    if path.resolve() in seen:
        return
    named = file_of_repository(path, root=root, where=str(path))
    yield from _lines(
        read_text(named), base=named.parent, name=str(path), root=root, wanted=wanted, seen=(*seen, named)
    )


def _lines(
    text: str, *, base: Path, name: str, root: Path, wanted: Wanted, seen: tuple[Path, ...]
) -> Iterator[Dependencies]:
    for number, line in logical_lines(text):
        where = f"{name}:{number}"
        match = _OPTION.fullmatch(line)
        option, value = match.groups() if match else ("", "")
        if option in _INCLUDES:
            yield from _read(base / value, root=root, wanted=wanted, seen=seen)
        elif option in _CONSTRAINS:
            constrained = combined(_read(base / value, root=root, wanted=wanted, seen=seen))
            yield Dependencies(constraints=tuple(one.text for one in constrained.requirements))
        elif option in _INDEX:
            yield Dependencies(indexes=(value,))
        elif option in _EDITABLE:
            yield _local(value, base=base, root=root, wanted=wanted, where=where)
        elif option in _WITHOUT_MEANING:
            continue
        elif option:
            raise ImageError(f"the option {option} cannot be part of a lock", where=where, fix="remove it")
        else:
            yield _named(line, base=base, root=root, wanted=wanted, where=where)


def _named(line: str, *, base: Path, root: Path, wanted: Wanted, where: str) -> Dependencies:
    hashes = _HASH.findall(line)
    text = line.split("--hash", 1)[0].strip()
    reference = text.partition("@")[2].partition(";")[0].strip() if "@" in text else text
    is_path = reference.startswith((".", "/", "file:")) or bool(re.match(r"[^\s;=<>]+\.whl\b", reference))
    if is_path:
        return _local(reference, base=base, root=root, wanted=wanted, where=where)
    if _ADDRESS.match(text):
        name = re.search(r"#egg=([\w.-]+)", text)
        raise not_pinned(name[1] if name else "a package without a name", text, where=where)
    return Dependencies(requirements=(requirement(text, where=where, hashes=hashes),))


def _local(reference: str, *, base: Path, root: Path, wanted: Wanted, where: str) -> Dependencies:
    """A wheel or a project of the repository."""
    if _ADDRESS.match(reference) and not reference.startswith("file:"):
        name = re.search(r"#egg=([\w.-]+)", reference)
        raise not_pinned(name[1] if name else "an editable package", reference, where=where)
    plain = shlex.split(reference.split(" ;", maxsplit=1)[0].removeprefix("file://").removeprefix("file:"))[0]
    match = re.fullmatch(r"(.*?)(?:\[([^\]]*)\])?", plain)
    place, extras = (match[1], match[2]) if match else (plain, None)
    found = file_of_repository(base / (place or "."), root=root, where=where)
    if found.suffix == ".whl":
        return Dependencies(wheels=(found,))
    if found.is_file():
        raise ImageError(
            f"{found.name} is a source archive, and only wheels are installed",
            where=where,
            fix=f"build a wheel of it (pip wheel --no-deps {place}), and name that file in its place",
        )
    named = tuple(one.strip() for one in (extras or "").split(",") if one.strip())
    return project_file.read_folder(found, root=root, extras=named, wanted=wanted, where=where)
