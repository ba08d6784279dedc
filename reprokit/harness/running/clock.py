"""The time: now, and names of folders by it."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["now", "stamp"]

#: The parts into which four hex digits divide a second.
_PARTS = 0x10000


def stamp() -> str:
    """A name for a folder made now: UTC time, and the part of the second in four hex digits.

    Names sort by time, also those of one second: the newest runs are those that sort last. No two calls
    of one process get the same name.
    """
    time.sleep(2 / _PARTS)
    moment = datetime.now(UTC)
    return f"{moment:%Y%m%dT%H%M%SZ}-{moment.microsecond * _PARTS // 1_000_000:04x}"


def now() -> str:
    """ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
