"""Run folders: ``runs/<recipe>/<run id>/``, everything that one execution produced.

This package owns their layout and the COMPLETE marker, a quick list of many of them (``listing``), and
their copies at a URL (``remote``). The folders are the only truth: what is remembered of them is read again
as soon as a file does not match.

    >>> read(Path("runs/cartpole_baseline/20261120T101500Z-3fa9-seed42-1")).complete
    True
"""

from reprokit.runs.reading import StoredRun, find, inside_facts, list_all, read, touched
from reprokit.runs.writing import close_interrupted, close_unfinished, create, finish, recover

__all__ = [
    "StoredRun",
    "close_interrupted",
    "close_unfinished",
    "create",
    "find",
    "finish",
    "inside_facts",
    "list_all",
    "listing",
    "read",
    "recover",
    "remote",
    "selection",
    "touched",
]
