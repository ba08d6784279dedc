"""The time: now, and names of folders by it."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

__all__ = ["now", "stamp"]


def stamp() -> str:
    """A name for a folder made now: UTC time and four random hex digits."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def now() -> str:
    """ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
