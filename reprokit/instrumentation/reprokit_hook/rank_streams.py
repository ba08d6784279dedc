"""What each rank of a distributed training was fed, in a few digests: ranks fed alike do one rank's work.

    {"updates": 20, "parameters": "9f…", "loaders": {"0": {"updates": 20, "samples": "c1…"}}}

``samples`` goes over the ids and contents of every update, and is "" where contents could not be read: ids
alone say nothing, since the ranks' data sets may be parts of one that are numbered alike.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from .process_names import RANK

_LEDGER = "samples"


class RankStreams:
    """Of one process; it records where that is a rank."""

    def __init__(self, light: Any) -> None:
        self._light = light
        light.at_end.append(self._end)
        self.restart()

    def restart(self) -> None:
        """Begin again: the process was forked."""
        self._updates = 0
        self._parameters = ""
        self._loaders: dict[str, dict[str, Any]] = {}

    def update(self, record: dict[str, Any]) -> None:
        """One record of the trace."""
        if not os.environ.get(RANK):
            return
        self._updates += 1
        self._parameters = _chained(self._parameters, record["parameters"])
        for name, ledger in record.items():
            if name == _LEDGER or name.startswith(f"{_LEDGER}_"):
                self._feed(str(int(name.partition("_")[2] or 1) - 1), ledger)

    def _feed(self, number: str, ledger: dict[str, Any]) -> None:
        known = self._loaders.setdefault(number, {"updates": 0, "samples": "begin"})
        known["updates"] += 1
        contents = ledger.get("contents")
        told = contents and known["samples"]
        known["samples"] = _chained(told, [ledger["digest"], contents]) if told else ""

    def _end(self) -> None:
        if self._updates:
            facts = {"updates": self._updates, "parameters": self._parameters, "loaders": self._loaders}
            self._light.torch["streams"] = facts


def _chained(before: str, value: Any) -> str:
    return hashlib.blake2b(f"{before}{json.dumps(value)}".encode(), digest_size=16).hexdigest()
