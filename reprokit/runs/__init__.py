"""Run folders: ``runs/<recipe>/<run id>/``, everything that one execution produced.

Their layout and the COMPLETE marker, a quick list of many of them (``listing``), their copies at a URL
(``remote``), and the records of sweeps (``sweeps``). What is cached about a folder
is read again as soon as a file in it changes.
"""

from reprokit.runs.reading import (
    StoredRun,
    find,
    inside_facts,
    list_all,
    must_not_be_newer,
    must_not_be_stopped,
    read,
    stopped_at_golden,
    touched,
)
from reprokit.runs.writing import close_interrupted, close_unfinished, create, finish, record_of, recover

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
    "must_not_be_newer",
    "must_not_be_stopped",
    "read",
    "record_of",
    "recover",
    "remote",
    "selection",
    "stopped_at_golden",
    "sweeps",
    "touched",
]
