"""Whether what works side by side draws different numbers: workers of loaders, ranks, environments, rollouts.

Read from what the runtime and the watch recorded; an answer is a sentence that names the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from reprokit.core.evidence import RunEvidence, fact

Worker = Mapping[str, Any]
Rank = Mapping[str, Any]
Vector = Mapping[str, Any]


def clones_of_trainer(run: RunEvidence) -> Iterator[str]:
    """Environments or rollouts of a trainer that were equal after every update, ranks fed alike in one."""
    for one, other, update in fact(run.runtime, "ranks.alike") or ():
        yield f"ranks {one} and {other} train on the same samples in update {update}"
    for pair in fact(run.runtime, "seeding.alike") or ():
        yield f"{pair[0]} and {pair[1]} were equal after every update: one is a clone of the other"


def num_of_trainer(run: RunEvidence) -> dict[str, int]:
    """What of a trainer works side by side → how many were seen."""
    in_use = fact(run.runtime, "seeding.in_use")
    return {
        "rank": fact(run.runtime, "ranks.world_size") or 0,
        "environment": len(in_use) if isinstance(in_use, Mapping) else 0,
    }


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


def ledger_problems(run: RunEvidence) -> Iterator[str]:
    """Why the ledger of samples lacks some of them, of every process where it does."""
    for process in (fact(run.instrument, "processes") or {}).values():
        if problem := fact(process, "torch.ledger_problem"):
            yield str(problem)


def unread(run: RunEvidence) -> Iterator[str]:
    """What could not be looked at of what works side by side: generators of workers, samples of ranks."""
    for process in (fact(run.instrument, "processes") or {}).values():
        if problem := fact(process, "torch.worker_problem"):
            yield str(problem)
    if ranks(run):
        yield from ledger_problems(run)
    asked, known = (
        run.run.world_size,
        fact(run.runtime, "ranks.world_size") or 1,
    )
    if asked != known:
        yield f"the recipe asks for {asked} ranks, and the launcher recorded {known}"
    elif known > 1 and fact(run.runtime, "ranks.samples") is not True:
        yield "the traces of the ranks lack the samples of some updates, or their contents"


def ranks(run: RunEvidence) -> list[list[Rank]]:
    """The ranks of each launch that has more than one, with what each was fed."""
    found: dict[str, list[Rank]] = {}
    for name, process in sorted((fact(run.instrument, "processes") or {}).items()):
        launcher, _, rank = name.rpartition(".r")
        streams = fact(process, "torch.streams")
        if launcher and rank.isdigit() and isinstance(streams, Mapping):
            loaders = fact(process, "torch.loaders") or []
            found.setdefault(launcher, []).append({**streams, "rank": int(rank), "made": loaders})
    return [sorted(group, key=lambda one: one["rank"]) for group in found.values() if len(group) > 1]


def clones_of_ranks(run: RunEvidence) -> Iterator[str]:
    """Ranks with one model that every update fed the same samples, by every loader that trains."""
    for group in ranks(run):
        for one, other in combinations(group, 2):
            mine, theirs = _trains(one), _trains(other)
            as_one = one["parameters"] == other["parameters"] and one["updates"] == other["updates"] > 1
            if as_one and mine and mine == theirs and all(mine.values()):
                loader = one["made"][min(mine)]
                yield (
                    f"ranks {one['rank']} and {other['rank']} train on the same samples in every update: "
                    f"{loader.get('file')}:{loader.get('line')} gives them to each"
                )


def _trains(rank: Rank) -> dict[int, Any]:
    """Number of each loader that fed every update of a rank → the digest of its samples."""
    return {
        int(number): one.get("samples")
        for number, one in rank["loaders"].items()
        if one.get("updates") == rank["updates"] and not rank["made"][int(number)].get("without_gradients")
    }


def vectors(run: RunEvidence) -> list[Vector]:
    """Every vector of environments, with what each environment began with."""
    found: list[Vector] = []
    processes = sorted((fact(run.instrument, "processes") or {}).items())
    for _, process in processes:
        found += [one for one in process.get("vectors") or [] if isinstance(one, Mapping)]
    played: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for _, process in processes:
        worker = process.get("vector_worker") or {}
        if worker:
            played.setdefault((process.get("parent"), worker.get("file"), worker.get("line")), []).append(
                worker
            )
    for group in played.values():
        ordered = sorted(group, key=lambda one: one["index"])
        if len({one["index"] for one in group}) == len(group) > 1:  # else it was made more than once
            found.append({**ordered[0], "environments": ordered})
    return found


def clones_of_vectors(run: RunEvidence) -> Iterator[str]:
    """Environments of one vector that began with the same generator and drew from it."""
    for vector in vectors(run):
        for (mine, one), (theirs, other) in combinations(enumerate(vector["environments"]), 2):
            drawn = one.get("drawn") and other.get("drawn")
            if drawn and one.get("began") == other.get("began"):
                yield (
                    f"environments {mine} and {theirs} of a vector draw the same numbers: "
                    f"{vector.get('file')}:{vector.get('line')} begins each with the same seed"
                )


#: What may be clones in a program that was watched.
KINDS_OF_WATCHED = (clones_of_workers, clones_of_ranks, clones_of_vectors)


def num_of_watched(run: RunEvidence) -> dict[str, int]:
    """What works side by side in a program that was watched → how many were seen."""
    return {
        "worker": sum(map(len, workers(run))),
        "rank": sum(map(len, ranks(run))),
        "environment": sum(len(vector["environments"]) for vector in vectors(run)),
    }


def num_generators(run: RunEvidence) -> int:
    """Of the workers of one loader: the most that were looked at in one of them."""
    return max((len(one["generators"]) for group in workers(run) for one in group), default=0)


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
        yield f"the environments of {other.path} had different seeds from those of {first.path}"
    theirs = {one["process"]: one for group in workers(other) for one in group}
    for one in (one for group in workers(first) for one in group):
        for name, began in one["generators"].items():
            again = (theirs.get(one["process"]) or {"generators": {}})["generators"].get(name, began)
            if began.get("drawn") and began.get("began") != again.get("began"):
                place = f"worker {one['worker']} of the loader at {one.get('file')}:{one.get('line')}"
                yield f"{place} draws different numbers from {name} in {other.path} than in {first.path}"
