"""The quick parser of JSON, where this Python has it.

For a new release of Python orjson has no wheel, or one for new systems only. There Python's own parser, which
decides what is doubtful anyway, reads every line: slower, to the same records.
"""

from __future__ import annotations

from typing import Any

try:
    from orjson import loads as _loads
except ImportError:
    _loads = None  # type: ignore[assignment]


def quick_loads(data: bytes) -> Any:
    """What the quick parser reads.

    Raises:
        ValueError: It is no JSON, or there is no quick parser.
    """
    if _loads is None:
        raise ValueError("this Python has no orjson")
    return _loads(data)
