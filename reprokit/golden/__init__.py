"""Goldens on disk: ``golden/<recipe>/<platform>/seed-<n>/``, a promoted run, or a foreign log."""

from reprokit.golden.folder import Golden, GoldenRow, find, list_all, load, locate
from reprokit.golden.foreign import ForeignNumbers, write_foreign
from reprokit.golden.promotion import Candidate, FailedCheck, promote
from reprokit.golden.replace_folders import replace_folders

__all__ = [
    "Candidate",
    "FailedCheck",
    "ForeignNumbers",
    "Golden",
    "GoldenRow",
    "find",
    "list_all",
    "load",
    "locate",
    "promote",
    "replace_folders",
    "write_foreign",
]
