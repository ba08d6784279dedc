"""What `reprokit verify --cpu` found, as lines: one recipe on one emulated CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reprokit.reports.tables import shown

_KEYS = ("recipe", "seed", "cpu", "sentence", "against", "updates", "first", "remedy", "exit_code")
_GUILTY_KEYS = ("name", "operation", "calls", "differing", "elements")


def answer_lines(answer: Any) -> Iterator[str]:
    """The verdict of a ``CpuAnswer``, its reason, and a hint."""
    seed = "" if answer.seed is None else f"  seed {answer.seed}"
    yield shown(f"{answer.recipe}{seed}  {answer.cpu}: {answer.verdict}")
    yield f"  {shown(answer.sentence, limit=2000)}"
    if answer.remedy:
        yield f"  Hint: {shown(answer.remedy, limit=1000)}"
    if answer.exit_code and answer.folder is not None:
        yield f"  Obtained: {shown(answer.folder, limit=1000)}"


def answer_data(answer: Any) -> dict[str, Any]:
    """The same for ``--json``."""
    guilty = [
        {
            **{key: getattr(one, key) for key in _GUILTY_KEYS},
            "inputs": "recorded" if one.recorded else "generated",
            "shape": list(one.shape),
            "dtype": one.dtype,
        }
        for one in answer.guilty
    ]
    return {
        **{key: getattr(answer, key) for key in _KEYS},
        "verdict": str(answer.verdict),
        "guilty": guilty,
        "folder": str(answer.folder) if answer.folder else None,
    }
