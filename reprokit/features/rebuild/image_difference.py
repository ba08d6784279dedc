"""The first difference between two builds of an image: the layer, the file, and the byte.

>>> first_difference(one, two).sentence()
'opt/reprokit/bin/pip: mode: 0755 and 0700 (layer 1: RUN umask 022 …)'
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

from reprokit.images.building.canonical import CanonicalImage
from reprokit.images.building.layers import File, SavedImage

_SHOWN_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDifference:
    """The first thing that two builds do not share."""

    file: str  # its path in the image; empty for the image's own settings
    # `only in one`, `kind`, `mode`, `owner`, `time`, `target`, `attributes`, `content`, `base` or `settings`
    what: str
    expected: str  # its value in the first build
    actual: str  # its value in the other one
    layer: str = ""  # the layer and the build step that made it
    offset: int | None = None  # for content: the first byte that differs, counted from 0
    num_files: int = 0  # how many files differ in all

    def sentence(self) -> str:
        """One line for a person."""
        place = "" if self.offset is None else f" from byte {self.offset}"
        layer = f" ({self.layer})" if self.layer else ""
        return f"{self.file or 'the image'}: {self.what}{place}: {self.expected} and {self.actual}{layer}"


def first_difference(one: CanonicalImage, other: CanonicalImage) -> ImageDifference | None:
    """The first difference of two builds by name of file; None where their IDs are one."""
    if one.id == other.id:
        return None
    found = [pair for pair in _pairs(one.files, other.files) if _differ(one, other, *pair)]
    if found:
        return _file_difference(one, other, *found[0], num_files=len(found))
    settings, others = json.loads(one.configuration), json.loads(other.configuration)
    for key in sorted(settings.keys() | others.keys()):
        if settings.get(key) != others.get(key):
            what = "base" if key == "rootfs" else "settings"
            mine, yours = (json.dumps(side.get(key))[:200] for side in (settings, others))
            return ImageDifference(file="", what=what, expected=f"{key} {mine}", actual=yours)
    return None


def _pairs(one: tuple[File, ...], other: tuple[File, ...]) -> Iterator[tuple[File | None, File | None]]:
    left, right = {file.name: file for file in one}, {file.name: file for file in other}
    for name in sorted(left.keys() | right.keys()):
        yield left.get(name), right.get(name)


def _differ(one: CanonicalImage, other: CanonicalImage, left: File | None, right: File | None) -> bool:
    if left is None or right is None:
        return True
    return bool(_facts(left, right)) or _content(one.image, other.image, left, right) is not None


def _file_difference(
    one: CanonicalImage, other: CanonicalImage, left: File | None, right: File | None, *, num_files: int
) -> ImageDifference:
    if left is None or right is None:
        there, image = (left, one) if left is not None else (right, other)
        if there is None:
            raise ValueError("a pair of nothing")
        sides = ("there", "not there") if left is not None else ("not there", "there")
        what, expected, actual, offset = f"a {there.kind} only in one", *sides, None
    else:
        there, image = left, one
        facts = _facts(left, right)
        place = None if facts else _content(one.image, other.image, left, right)
        what, expected, actual = facts[0] if facts else ("content", *(place or (0, "", ""))[1:])
        offset = place[0] if place else None
    step = image.image.made_by(there.layer).replace("\t", " ")
    return ImageDifference(
        file=there.name,
        what=what,
        expected=expected,
        actual=actual,
        layer=f"layer {there.layer}: {' '.join(step.split())[:80]}",
        offset=offset,
        num_files=num_files,
    )


def _facts(left: File, right: File) -> list[tuple[str, str, str]]:
    """What, first, other: of everything but the content; the most important one first."""
    facts = [
        ("kind", left.kind, right.kind),
        ("mode", f"{left.mode:04o}", f"{right.mode:04o}"),
        ("owner", f"{left.uid}:{left.gid}", f"{right.uid}:{right.gid}"),
        ("target", left.target, right.target),
        ("attributes", str(dict(left.attributes)), str(dict(right.attributes))),
        ("time", str(left.mtime), str(right.mtime)),
    ]
    return [fact for fact in facts if fact[1] != fact[2]]


def _content(one: SavedImage, other: SavedImage, left: File, right: File) -> tuple[int, str, str] | None:
    """Offset of the first byte that differs, and a few bytes from there on of either."""
    offset = 0
    for mine, yours in itertools.zip_longest(one.content(left), other.content(right), fillvalue=b""):
        if mine != yours:
            same = next(
                (at for at, pair in enumerate(zip(mine, yours, strict=False)) if pair[0] != pair[1]),
                min(len(mine), len(yours)),
            )
            shown = (part[same : same + _SHOWN_BYTES].hex(" ") or "the end" for part in (mine, yours))
            return (offset + same, *shown)  # type: ignore[return-value]
        offset += len(mine)
    return None
