r"""Lines in which a secret may stand: those that hold a word without which no rule finds anything.

Looking each word up in each line takes longer than all rules together, so every three bytes in a row are
looked up in a table at once; a line too many costs time, and none is missed.

    >>> lines_to_look_at("loss: 0.5\napi_key: abc\n")
    [(2, 'api_key: abc')]
"""

from __future__ import annotations

import functools
from itertools import product

import numpy as np
import numpy.typing as npt

from reprokit.redaction.line_rules import HINTS

_MOST_BYTES = 1 << 22  # of one piece: the tables of larger ones take memory for nothing


def lines_to_look_at(text: str) -> list[tuple[int, str]]:
    """Number and text of each line that holds one of ``HINTS``, or a letter that is not ASCII; others too."""
    lines = text.split("\n")
    found: list[tuple[int, str]] = []
    first, size = 0, 0
    for at, line in enumerate(lines):
        size += len(line) + 1
        if size >= _MOST_BYTES or at == len(lines) - 1:
            piece = lines[first : at + 1]
            found += [(first + one + 1, piece[one]) for one in _candidates(piece)]
            first, size = at + 1, 0
    return found


def _candidates(lines: list[str]) -> list[int]:
    """Which of some lines may hold one of the words."""
    data = np.frombuffer(
        "\n".join([*lines, "", ""]).lower().encode("utf-8", "surrogateescape"), dtype=np.uint8
    )
    pairs = data[:-1].astype(np.uint16)
    pairs <<= 8
    pairs |= data[1:]
    of_two, of_three = _tables()
    begins = np.flatnonzero(of_two[pairs[:-1]])
    begins = begins[of_three[_threes(pairs[begins], data[begins + 2])]]
    content, words = data.tobytes(), tuple(hint.encode() for hint in HINTS)
    begins = np.array([at for at in begins.tolist() if content.startswith(words, at)], dtype=np.int64)
    begins = np.concatenate([begins, np.flatnonzero(data & 0x80)])
    ends = np.flatnonzero(data == ord("\n"))
    numbers = np.unique(np.searchsorted(ends, begins))
    return [int(one) for one in numbers if one < len(lines)]


@functools.cache
def _tables() -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether a word begins with two bytes, and with three; what follows a short word may be any."""
    of_two, of_three = np.zeros(1 << 16, dtype=np.bool_), np.zeros(1 << 24, dtype=np.bool_)
    for hint in HINTS:
        known = [[one] for one in hint.encode()[:3]]
        for first, second, third in product(*known, *[range(256)] * (3 - len(known))):
            pair = first << 8 | second
            of_two[pair] = True
            of_three[pair << 8 | third] = True
    return of_two, of_three


def _threes(pairs: npt.NDArray[np.uint16], thirds: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    return pairs.astype(np.uint32) << np.uint32(8) | thirds
