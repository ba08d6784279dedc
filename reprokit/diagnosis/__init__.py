"""From traces of runs to a cause: which sources of randomness differ, which matter, what they are called.

Pure: traces in, causes out. The runs are made in ``harness.diagnosing``.
"""

from reprokit.diagnosis.cause_names import (
    CATEGORIES,
    Cause,
    category_of,
    cause_of,
    cause_of_operation,
    cause_of_simulator,
    known_of_operation,
)
from reprokit.diagnosis.first_divergence import (
    COMPUTED,
    Began,
    Place,
    first_difference,
    same_samples,
    schedules,
)
from reprokit.diagnosis.hook_limits import compiled_packages, computing_threads, limits_of
from reprokit.diagnosis.operations import Operation, UnfinishedWork, first_operation, same_operations
from reprokit.diagnosis.resumed_loops import ANEW, LATER, UNKNOWN, where_begun
from reprokit.diagnosis.smallest_set import isolate
from reprokit.diagnosis.traces import HookTrace, OutsideFile, Site, differing, read_trace

__all__ = [
    "ANEW",
    "CATEGORIES",
    "COMPUTED",
    "LATER",
    "UNKNOWN",
    "Began",
    "Cause",
    "HookTrace",
    "Operation",
    "OutsideFile",
    "Place",
    "Site",
    "UnfinishedWork",
    "category_of",
    "cause_of",
    "cause_of_operation",
    "cause_of_simulator",
    "compiled_packages",
    "computing_threads",
    "differing",
    "first_difference",
    "first_operation",
    "isolate",
    "known_of_operation",
    "limits_of",
    "read_trace",
    "same_operations",
    "same_samples",
    "schedules",
    "where_begun",
]
