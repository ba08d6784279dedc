"""Judging: from run folders to evidence, and from evidence to a report with its wording."""

from reprokit.harness.judging.trace_comparison import compare_traces

__all__ = [
    "compare_traces",
]
