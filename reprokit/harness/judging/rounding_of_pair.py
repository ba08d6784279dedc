"""Whether two runs that may differ by rounding differ by more; the feature ``compare`` judges it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reprokit.feature import offered

#: Makes one more run of the first under a variation; the second argument is its number, from 1.
MakeRun = Callable[[Any, int], Path]
_NO_JUDGE = "nothing that is installed here judges rounding"


def twins_of_pair(first: Path, other: Path, make_run: MakeRun) -> dict[str, Any]:
    """Make the twins of the first run that the answer needs.

    Returns:
        ``runs``: the twins, or None; ``why``: why there are none, one sentence.
    """
    make = offered("twins_of_pair")
    if make is None:
        return {"runs": None, "why": _NO_JUDGE}
    found: dict[str, Any] = make(first, other, make_run)
    return found


def rounding_of_pair(first: Path, other: Path, told: Mapping[str, Any]) -> Mapping[str, Any]:
    """What twins that were made say: ``answer``, ``sentence``, ``runs`` and ``why``. Nothing is run."""
    judge = offered("rounding_of_pair")
    if judge is None:
        sentence = f"whether that is rounding is not known: {_NO_JUDGE}"
        return {**told, "answer": "unjudged", "sentence": sentence}
    found: Mapping[str, Any] = judge(first, other, told)
    return found


def twin_folders(told: Mapping[str, Any]) -> tuple[Path, ...]:
    """The twins, and the control, that an answer names."""
    made: Mapping[str, Any] = told.get("runs") or {}
    listed = [*made.get("twins", ()), *made.get("short", ()), made.get("control")]
    return tuple(Path(str(one)) for one in listed if one)
