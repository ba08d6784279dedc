"""Running: from a request to run folders, whole, stopped, resumed or under varied surroundings."""

from reprokit.harness.running.apply_variations import check_names
from reprokit.harness.running.plan import shell_line

__all__ = [
    "check_names",
    "shell_line",
]
