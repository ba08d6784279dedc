"""What Pythons before 3.11 lack, for a hook that runs in the program's own one (3.8 and later)."""

from __future__ import annotations


def without_prefix(text: str, prefix: str) -> str:
    """As ``str.removeprefix``, which came with 3.9."""
    if text.startswith(prefix):  # noqa: FURB188 - see above
        text = text[len(prefix) :]
    return text
