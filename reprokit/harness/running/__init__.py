"""Running: from a request to run folders, whole, stopped, resumed or under varied conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reprokit.harness.running.plan import shell_line
    from reprokit.harness.running.varying.apply_variations import check_names

__all__ = [
    "check_names",
    "shell_line",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: a run that varies nothing needs no variations."""
    if name == "check_names":
        from reprokit.harness.running.varying import apply_variations

        return apply_variations.check_names
    if name == "shell_line":
        from reprokit.harness.running import plan

        return plan.shell_line
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
