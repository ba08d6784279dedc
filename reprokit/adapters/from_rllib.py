"""Ray Tune's and RLlib's ``result.json``: JSON Lines, a record an iteration, nested names joined with ``/``.

What Tune adds by itself (times, host, process, configuration) is left out.

    >>> next(read(Path("PPO_CartPole-v1/result.json"))).record
    {'step': 1, 'env_runners/episode_return_mean': 21.5}
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.adapters import from_jsonl, tune_fields
from reprokit.adapters.jsonl.jsonl_line import read_line
from reprokit.adapters.reading import Reading, open_file
from reprokit.errors import MetricsError

NAME = "rllib"
ORDER = 15
WHOLE_FOLDER = False
PATTERNS = ("result.json",)

_LOOKED_AT_BYTES = 4 << 20


def reads(path: Path) -> bool:
    """Whether the first line is a result of Tune's: many programs call a file so."""
    try:
        with os.fdopen(open_file(path), "rb") as file:
            first = file.readline(_LOOKED_AT_BYTES)
    except MetricsError:
        return False
    record = read_line(first.removesuffix(b"\n"), number=1).record
    return record is not None and record.keys() >= tune_fields.SIGNATURE


def read(path: Path) -> Iterator[Reading]:
    """The results of a trial.

    Raises:
        MetricsError: The path cannot be opened as a file.
    """
    for reading in from_jsonl.read(path):
        if reading.record is None:
            yield reading
            continue
        record: dict[str, Any] = {}
        step = reading.record.get(tune_fields.STEP)
        if type(step) is int:
            record["step"] = step
        twice = _flatten(reading.record, "", record)
        if twice:
            yield Reading(line=reading.line, record=None, notes=(("duplicate_key", f"'{twice[:80]}'"),))
        else:
            yield replace(reading, record=record)


def _flatten(values: Mapping[str, Any], prefix: str, into: dict[str, Any]) -> str:
    """Put in every value that is no mapping; a name that comes twice, or "". The parser limits the depth."""
    for key, value in values.items():
        name = prefix + key
        if tune_fields.is_added(name) or (name == tune_fields.STEP and "step" in into):
            continue
        if isinstance(value, dict):
            twice = _flatten(value, f"{name}/", into)
            if twice:
                return twice
        elif name in into:
            return name
        else:
            into[name] = value
    return ""
