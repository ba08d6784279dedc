"""What a place answers when a file is read from it, and the two ways in which it can fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BLOCK_BYTES = 1 << 20


class TransferCutError(Exception):
    """The transfer ended too early; it can be resumed where it ended."""


class PlaceRefusedError(Exception):
    """This place does not have the file; another one may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A file being read.

    Attributes:
        begins_at: Offset of the first byte; 0 where the place cannot begin in the middle.
        total_bytes: Size of the whole file as the place says, or None.
        is_web_page: Whether the place calls it HTML.
        blocks: Its bytes from there on.
    """

    begins_at: int
    total_bytes: int | None
    blocks: Iterator[bytes]
    is_web_page: bool = False
