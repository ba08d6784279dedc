"""How many of the runs that were disturbed differ, and two of them that do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from reprokit import runs
from reprokit.core.comparison import Comparison
from reprokit.core.evidence import StressEvidence
from reprokit.core.statistics.shares import at_most, share_interval

#: So many results are told apart; what equals none of them counts as one of its own.
_MOST_RESULTS = 30


def stress_evidence(
    stored: Sequence[runs.StoredRun],
    repeats: Sequence[Comparison],
    *,
    compare: Callable[[Path, Path], Comparison],
) -> StressEvidence | None:
    """Which runs have the most frequent result, and which have not.

    Args:
        stored: The runs.
        repeats: Comparisons of the first of them with each other one.
        compare: Compares two run folders.

    Returns:
        None where the runs were not all disturbed, did not all finish, or cannot all be compared.
    """
    disturbed = [run.record.stressed for run in stored]
    whole = len(stored) > 1 and len(repeats) == len(stored) - 1 and all(one.comparable for one in repeats)
    if not whole or any(one is None for one in disturbed):
        return None
    groups = _alike([run.path for run in stored], repeats, compare=compare)
    usual = max(groups, key=len)
    other = next((group for group in groups if group is not usual), None)
    differ = len(stored) - len(usual)
    low, high = share_interval(differ, len(stored))
    return StressEvidence(
        num_runs=len(stored),
        differ=differ,
        results=len(groups),
        low=low,
        high=high,
        at_most=None if differ else at_most(len(stored)),
        pair=(str(usual[0]), str(other[0])) if other else (),
        not_made={name: why for one in disturbed if one for name, why in one.not_made.items()},
    )


def _alike(
    folders: Sequence[Path], repeats: Sequence[Comparison], *, compare: Callable[[Path, Path], Comparison]
) -> list[list[Path]]:
    """The runs, those together that are equal; the first group is that of the first run."""
    groups = [[folders[0]]]
    for folder, repeat in zip(folders[1:], repeats, strict=True):
        known = groups[1:_MOST_RESULTS]
        if repeat.identical:
            groups[0].append(folder)
        elif same := next((group for group in known if compare(group[0], folder).identical), None):
            same.append(folder)
        else:
            groups.append([folder])
    return groups
