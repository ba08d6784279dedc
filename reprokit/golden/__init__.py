"""Goldens on disk: ``golden/<recipe>/<platform>/seed-<n>/``, the promoted run of a recipe."""

from reprokit.golden.folder import Golden, GoldenRow, find, list_all, load, locate
from reprokit.golden.promotion import Candidate, FailedCheck, promote

__all__ = ["Candidate", "FailedCheck", "Golden", "GoldenRow", "find", "list_all", "load", "locate", "promote"]
