"""Whether what works side by side draws different numbers: workers of loaders, ranks, environments, rollouts.

Read from what the runtime and the watch recorded; an answer is a sentence that names the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from reprokit.core.evidence import RunEvidence, fact

Worker = Mapping[str, Any]


def clones_of_trainer(run: RunEvidence) -> Iterator[str]:
    """Environments or rollouts of a trainer that were equal after every update."""
    for pair in fact(run.runtime, "seeding.alike") or ():
        yield f"{pair[0]} and {pair[1]} were equal after every update: one is a clone of the other"


def num_of_trainer(run: RunEvidence) -> int:
    """How many environments a trainer was found with."""
    in_use = fact(run.runtime, "seeding.in_use")
    return len(in_use) if isinstance(in_use, Mapping) else 0


def workers(run: RunEvidence) -> list[list[Worker]]:
    """The workers of each iterator over a loader that has more than one."""
    found: dict[tuple[Any, ...], list[Worker]] = {}
    for name, process in sorted((fact(run.instrument, "processes") or {}).items()):
        worker = fact(process, "torch.worker")
        if isinstance(worker, Mapping):
            key = (process.get("parent"), worker.get("line"), worker.get("iterator"))
            seeds = process.get("seeds") or []
            generators = fact(process, "torch.generators") or {}
            found.setdefault(key, []).append(
                {**worker, "process": name, "seeds": seeds, "generators": generators}
            )
    return [sorted(group, key=lambda one: one["worker"]) for group in found.values() if len(group) > 1]


def clones_of_workers(run: RunEvidence) -> Iterator[str]:
    """Workers of one loader that began with the same generator and drew from it."""
    for group in workers(run):
        for one, other in combinations(group, 2):
            for name, mine in one["generators"].items():
                theirs = other["generators"].get(name) or {}
                drawn = mine.get("drawn") and theirs.get("drawn")
                if drawn and mine.get("began") == theirs.get("began"):
                    yield _told(one, other, name)


def _told(one: Worker, other: Worker, name: str) -> str:
    seeded = [entry for entry in one["seeds"] if entry.get("generator") == name]
    place = seeded[-1] if seeded else one
    how = (
        f"gives it the seed {seeded[-1].get('seed')} in each" if seeded else "starts each with the same copy"
    )
    return (
        f"workers {one['worker']} and {other['worker']} draw the same numbers from {name}: "
        f"{place.get('file')}:{place.get('line')} {how}"
    )


def unlike(first: RunEvidence, other: RunEvidence) -> Iterator[str]:
    """What drew from other streams in another run with the same seed."""
    mine, other_seeds = (fact(run.runtime, "seeding.in_use") for run in (first, other))
    if isinstance(mine, Mapping) and isinstance(other_seeds, Mapping) and mine != other_seeds:
        yield f"the environments of {other.path} had other seeds than those of {first.path}"
    theirs = {one["process"]: one for group in workers(other) for one in group}
    for one in (one for group in workers(first) for one in group):
        for name, began in one["generators"].items():
            again = (theirs.get(one["process"]) or {"generators": {}})["generators"].get(name, began)
            if began.get("drawn") and began.get("began") != again.get("began"):
                place = f"worker {one['worker']} of the loader at {one.get('file')}:{one.get('line')}"
                yield f"{place} draws other numbers from {name} in {other.path} than in {first.path}"
