"""Judging: from run folders to evidence, and from evidence to a report with its wording."""

from reprokit.harness.judging.differences.rank_traces import compare_ranks

__all__ = [
    "compare_ranks",
]
