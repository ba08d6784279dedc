"""Hugging Face's ``trainer_state.json``: the list ``log_history``, a record an entry.

>>> next(read(Path("checkpoint-500/trainer_state.json"))).record
{'epoch': 1.0, 'loss': 0.5, 'step': 500}
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reprokit.adapters.jsonl.jsonl_line import flattened, read_line
from reprokit.adapters.reading import Reading, open_file

NAME = "trainer_state"
ORDER = 60
WHOLE_FOLDER = False
PATTERNS = ("trainer_state.json",)

MAX_BYTES = 32 << 20

_HISTORY = "log_history"


def reads(_path: Path) -> bool:
    """Whatever has such a name is read."""
    return True


def read(path: Path) -> Iterator[Reading]:
    """The entries of the history.

    Raises:
        MetricsError: The path cannot be opened.
    """
    with os.fdopen(open_file(path), "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if not data:
        yield Reading(line=None, record=None, notes=(("empty_file", ""),))
        return
    if len(data) > MAX_BYTES:
        yield Reading(line=None, record=None, notes=(("too_large", f"more than {MAX_BYTES >> 20} MiB"),))
        return
    whole = read_line(data, number=1)
    if whole.record is None:
        yield whole
        return
    history = whole.record.get(_HISTORY)
    if not isinstance(history, list):
        yield Reading(line=None, record=None, notes=(("not_an_object", f"it has no list {_HISTORY}"),))
        return
    for number, entry in enumerate(history, start=1):
        if isinstance(entry, dict):
            yield Reading(line=number, record=flattened(entry))
        else:
            yield Reading(
                line=number, record=None, notes=(("not_an_object", f"entry {number} of {_HISTORY}"),)
            )
