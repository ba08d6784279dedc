"""Divides the files of an image into layers: one for each large package, so that other images share it.

A package's files follow from its wheel and the Python of the base alone: equal wheels give equal layers. An
engine keeps a layer once for all images that have the same layers below it, hence the largest come first.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reprokit.images.building.layers import DIRECTORY, FILE, HARD_LINK, File, SavedImage

_SMALLEST_BYTES = 32 << 20
_MOST_LAYERS = 16  # of at most 127 that an engine stacks
_RECORD = re.compile(r"(?P<site>.*/site-packages)/(?P<package>[^/]+)\.dist-info/RECORD")
_COMPILED = re.compile(r"(?P<folder>.*/)__pycache__/(?P<module>[^/]+?)\.cpython-\d+(?:\.opt-\d)?\.pyc")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPart:
    """The files of one layer, sorted by name, and the package that it holds; "" for what is left."""

    package: str
    files: tuple[File, ...]


def divided(image: SavedImage, files: Sequence[File]) -> tuple[LayerPart, ...]:
    """Every large package by itself, the largest first, and then everything else.

    Args:
        image: The archive that the files are in.
        files: Everything above the base, sorted by name.
    """
    by_name = {file.name: file for file in files}
    sizes = {
        package: (names, sum(by_name[name].size_bytes for name in names))
        for package, names in _packages(image, by_name).items()
    }
    large = [package for package, (_, size) in sizes.items() if size >= _SMALLEST_BYTES]
    large.sort(key=lambda package: (-sizes[package][1], package))
    large = large[:_MOST_LAYERS]
    taken = {name for package in large for name in sizes[package][0]}
    rest = {file.name for file in files if file.name not in taken}
    only_of_packages = _parents(taken) - _parents(name for name in rest if by_name[name].kind != DIRECTORY)
    return (
        *(LayerPart(package=one, files=_with_parents(sizes[one][0], by_name)) for one in large),
        LayerPart(package="", files=_with_parents(rest - only_of_packages, by_name)),
    )


def _packages(image: SavedImage, by_name: Mapping[str, File]) -> dict[str, set[str]]:
    """Package → the files that it alone has among those that are imported, their byte-code too."""
    compiled: dict[str, list[str]] = {}
    for name in by_name:
        if match := _COMPILED.fullmatch(name):
            compiled.setdefault(f"{match['folder']}{match['module']}.py", []).append(name)
    # A link and what it names have to be in one layer.
    linked = {name for one in by_name.values() if one.kind == HARD_LINK for name in (one.name, one.target)}
    found: dict[str, set[str]] = {}
    for record in by_name.values():
        if (match := _RECORD.fullmatch(record.name)) and record.kind == FILE:
            listed = {
                name
                for listed in _listed(image, record, site=match["site"])
                for name in (listed, *compiled.get(listed, ()))
                if name in by_name and by_name[name].kind != DIRECTORY
            }
            found[match["package"]] = listed - linked
    claims = Counter(name for names in found.values() for name in names)
    return {package: {name for name in names if claims[name] == 1} for package, names in found.items()}


def _listed(image: SavedImage, record: File, *, site: str) -> Iterator[str]:
    """The files that a package's list names, those next to its modules (scripts) left out.

    https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """
    text = b"".join(image.content(record)).decode("utf-8", "surrogateescape")
    for row in csv.reader(io.StringIO(text, newline="")):
        name = posixpath.normpath(f"{site}/{row[0]}") if row else ""
        if name.startswith(f"{site}/"):
            yield name


def _with_parents(names: set[str], by_name: Mapping[str, File]) -> tuple[File, ...]:
    needed = names | {name for name in _parents(names) if name in by_name}
    return tuple(by_name[name] for name in sorted(needed))


def _parents(names: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for one in names:
        name = posixpath.dirname(one.rstrip("/"))
        while name and name not in found:
            found.add(name)
            name = posixpath.dirname(name)
    return found
