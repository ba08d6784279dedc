"""From traces of runs to a cause: which sources of chance differ, which of them matter, what they are called.

This package knows traces and experiments as functions; it refuses to run anything.

    >>> isolate(["clock", "unseeded"], enough=lambda held: "unseeded" in held)
    ('unseeded',)
"""

from reprokit.diagnosis.isolation import isolate
from reprokit.diagnosis.lost import Lost, lost_states
from reprokit.diagnosis.naming import Cause, category_of, cause_of, cause_of_operation
from reprokit.diagnosis.operations import Operation, first_operation
from reprokit.diagnosis.traces import Left, Site, Trace, differing, read_trace

__all__ = [
    "Cause",
    "Left",
    "Lost",
    "Operation",
    "Site",
    "Trace",
    "category_of",
    "cause_of",
    "cause_of_operation",
    "differing",
    "first_operation",
    "isolate",
    "lost_states",
    "read_trace",
]
