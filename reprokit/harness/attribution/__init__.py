"""Attribution: what changed the numbers: the code, the environment, or one commit."""

from reprokit.harness.attribution.bisect import bisect

__all__ = [
    "bisect",
]
