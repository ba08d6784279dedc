"""Texts as tokens, and tokens as texts: a token is the place of a character in a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from reprokit.data.tokens import Shard, write_header
from reprokit.errors import UsageError

_BLOCK_CHARACTERS = 1 << 20


def encode(text: Path, target: Path, vocabulary: Sequence[str] | None) -> tuple[str, ...]:
    """Write the characters of a text as tokens: a token is the place of a character in the vocabulary.

    Args:
        text: A file in UTF-8.
        target: ``.npy``, or ``.bin`` for bare numbers; uint16, or uint32 where the vocabulary needs it.
        vocabulary: The characters, each once; None for all that occur, sorted.

    Returns:
        The vocabulary.

    Raises:
        UsageError: The text is not UTF-8, or holds a character that the vocabulary has not.
        OSError: The target cannot be written.
    """
    count = 0
    found: set[str] = set()
    for block in _blocks(text):
        count += len(block)
        found.update(block)
    chosen = tuple(sorted(found) if vocabulary is None else vocabulary)
    if lacking := sorted(found - set(chosen)):
        raise UsageError(f"the vocabulary has no {lacking[0]!r}", where=str(text))
    dtype = np.dtype("<u2" if len(chosen) <= 1 << 16 else "<u4")
    places = np.zeros(max(map(ord, chosen), default=0) + 1, dtype)
    places[[ord(one) for one in chosen]] = np.arange(len(chosen))
    with target.open("xb") as stream:
        if target.suffix == ".npy":
            write_header(stream, dtype, (count,))
        for block in _blocks(text):
            stream.write(places[np.frombuffer(block.encode("utf-32-le"), "<u4")].tobytes())
    return chosen


def decode(path: Path, form: str, target: Path, vocabulary: Sequence[str]) -> None:
    """Write tokens as the characters that they stand for.

    Raises:
        UsageError: It is no such file, or a token is beyond the vocabulary.
        OSError: The target cannot be written.
    """
    shard = Shard(path, form)
    with target.open("x", encoding="utf-8", newline="") as stream:
        for number in range(len(shard)):
            row = shard[number]
            if len(row) and not 0 <= int(row.min()) <= int(row.max()) < len(vocabulary):
                raise UsageError(
                    f"a token is beyond the vocabulary: {int(row.max())}",
                    where=f"{path}: row {number + 1}",
                    expected=f"0 to {len(vocabulary) - 1}",
                )
            stream.write("".join(vocabulary[one] for one in row.tolist()))


def read_vocabulary(path: Path) -> tuple[str, ...]:
    """A JSON list of single characters, each once: its places are the tokens.

    Raises:
        UsageError: It is something else.
    """
    try:
        said = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"the vocabulary cannot be read: {error}", where=str(path)) from error
    if (
        not isinstance(said, list)
        or not all(isinstance(one, str) and len(one) == 1 for one in said)
        or len(set(said)) < len(said)
    ):
        raise UsageError("no vocabulary", where=str(path), expected="a JSON list of characters, each once")
    return tuple(said)


def _blocks(text: Path) -> Iterator[str]:
    try:
        with text.open(encoding="utf-8", newline="") as stream:
            while block := stream.read(_BLOCK_CHARACTERS):
                yield block
    except UnicodeDecodeError as error:
        raise UsageError("the text is not UTF-8", where=str(text)) from error
