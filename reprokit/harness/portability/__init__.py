"""Portability: whether a golden holds on other CPUs, and which operation does not."""

from reprokit.harness.portability import rounding

__all__ = [
    "rounding",
]
