"""Batches that accelerate reads before it hands them out: it is always one ahead, to know which is the last.

Hugging Face's Trainer is built on it. An update has trained on what was handed out to it, so what was read is
kept until then. Batches that are gone past inside (``skip_batches``) belong to no update.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any


class ReadAhead:
    """What one iteration of a wrapper has read and not handed out yet.

    Attributes:
        ended: Whether the loader inside has nothing more: then the last one read is the one handed out.
    """

    def __init__(self) -> None:
        self.batches: list[tuple[int, Any]] = []
        self.ended = False

    def handed_out(self) -> list[tuple[int, Any]]:
        """Of what was read, what the program gets now: one batch, none where nothing was read."""
        behind = 1 if self.ended else 2
        at = max(0, len(self.batches) - behind)
        found = self.batches[at : at + 1]
        del self.batches[: at + 1]
        return found


def watch(module: Any, ledger: Any) -> None:
    """Listen to the loaders of ``accelerate.data_loader`` that read in the process that trains."""
    natural: Callable[[Any], Iterator[Any]] = module.DataLoaderShard.__iter__

    @functools.wraps(natural)
    def iterate(loader: Any) -> Iterator[Any]:
        ahead, batches = ReadAhead(), natural(loader)
        while True:
            before, ledger.ahead = ledger.ahead, ahead
            try:
                batch = next(batches)
            except StopIteration:
                return
            finally:
                ledger.ahead = before
            for number, found in ahead.handed_out():
                ledger.hand_out(number, found)
            yield batch

    module.DataLoaderShard.__iter__ = iterate
