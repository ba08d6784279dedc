"""A file of a recipe as bytes and as text: small, regular, UTF-8, nothing hidden in it."""

from __future__ import annotations

import codecs
import re
import stat
from pathlib import Path

from reprokit.errors import RecipeError
from reprokit.regular_file import read_regular

MAX_BYTES = 1_000_000

# Control characters but tab and line ends, other line ends than an editor counts, byte order marks,
# and characters that reorder what a person reads (https://trojansource.codes).
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def read_bytes(path: Path) -> bytes:
    """The whole of a small regular file.

    Raises:
        RecipeError: It is missing, no regular file, unreadable, or larger than ``MAX_BYTES``
            (which is found out without reading it).
    """
    where = str(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise RecipeError(
                "not a file", where=where, actual="a folder" if path.is_dir() else "a special file"
            )
        content = read_regular(path, most_bytes=MAX_BYTES + 1)
    except OSError as error:
        raise RecipeError(f"cannot read: {error.strerror or error}", where=where) from error
    except ValueError as error:  # a NUL in the path
        raise RecipeError(f"cannot read: {error}", where=repr(where)) from error
    if len(content) > MAX_BYTES:
        raise RecipeError("the file is too large", where=where, expected=f"at most {MAX_BYTES} bytes")
    return content


def must_be_inside(file: Path, root: Path, *, where: str) -> None:
    """Raise `RecipeError` for a file that a link leads out of the recipes folder to."""
    if not file.resolve().is_relative_to(root.resolve()):
        raise RecipeError(
            f"{file} leads out of the recipes folder", where=where, fix="put the file itself there"
        )


def decoded(content: bytes, *, where: str) -> str:
    """Bytes of a YAML file as text.

    Raises:
        RecipeError: A byte order mark, invalid UTF-8, or characters that have no place in a recipe.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise RecipeError("the file is UTF-16", where=f"{where}:1", fix="save it as UTF-8")
    if content.startswith(codecs.BOM_UTF8):
        raise RecipeError(
            "the file begins with a byte order mark", where=f"{where}:1", fix="save it as UTF-8 without"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RecipeError(
            f"byte 0x{content[error.start]:02x} is not valid UTF-8",
            where=f"{where}:{line}",
            fix="save it as UTF-8",
        ) from error
    if found := UNWANTED.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise RecipeError(f"{named(found[0])} in the file", where=f"{where}:{line}", fix="remove it")
    return text


def named(character: str) -> str:
    """An unwanted character, described without printing it."""
    names = {"\0": "a NUL character", "\ufeff": "a byte order mark"}
    return names.get(character, f"the character U+{ord(character):04X}")
