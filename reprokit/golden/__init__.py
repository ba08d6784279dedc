"""Goldens on disk: ``golden/<recipe>/<platform>/seed-<n>/``, the blessed run of a recipe.

This package owns their layout, what makes a run worthy of it, and that an edited golden is not
taken for one.

    >>> folder = locate(Path("golden"), recipe="cartpole_baseline", platform="cpu-x86_64", seed=42)
    >>> load(folder).provenance["reason"]
    'first golden'
"""

from reprokit.golden.folder import Golden, GoldenRow, find, list_all, load, locate
from reprokit.golden.promotion import Candidate, promote

__all__ = ["Candidate", "Golden", "GoldenRow", "find", "list_all", "load", "locate", "promote"]
