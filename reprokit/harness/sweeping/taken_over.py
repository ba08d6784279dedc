"""What is said where runs of an earlier call stand beside those of this one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reprokit.harness.running.run_inputs import holds_all_inputs
from reprokit.records import run_json


def unknown_between(earlier: Sequence[Path], *, num_now: int) -> str:
    """That earlier runs may have been made under other conditions than those of now; "" where that is known.

    Args:
        earlier: The runs of earlier calls, all of one recipe.
        num_now: How many were made now.
    """
    if not earlier or not num_now or holds_all_inputs(run_json.recorded(earlier[0])):
        return ""
    return (
        f"{len(earlier)} of {len(earlier) + num_now} runs are of an earlier call: whether files outside the "
        "project, or variables, changed since then is not known; --runs-dir NEW makes all of them again"
    )
