"""At which update of a whole run a resumed one begins, and what is reachable there in either."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

#: So many kinds of updates are tried, the one that comes first in the resumed run first.
_MOST_KINDS = 3
#: Before an epoch of a loader of PyTorch has drawn its order.
LOADER_BEGINS = "DataLoader.__iter__"
#: So many times a path leads to another path.
_MOST_TURNS = 20


#: Kind of update → the places of all of them in the order of all.
Places = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A value that is reachable at the update, as the recording tells it.

    Attributes:
        path: As Python would write it.
        steps: The same, as the resumed run knows it.
        source: As the whole run knows it, where that is another one.
        kind: ``generator``, ``array``, ``value``, ``list`` or ``length``.
        root: Name, file, function and its first line where the path begins; no file for a library.
    """

    path: str
    steps: str
    kind: str
    digest: str
    root: tuple[str, str, str, int]
    settable: bool
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What is reachable at one update.

    Attributes:
        roots: Where paths begin: all variables that there are.
        owners: Steps → how an object that has parts is written.
        opaque: Compiled objects that tell nothing of themselves: path and type.
        also: Stems of further paths of an object → the one that it has.
        stack: The program's own frames, the innermost first: file, line, function.
        problem: Why it can be given to no other run; "" where it can.
    """

    folder: Path
    leaves: Mapping[str, Leaf]
    roots: frozenset[tuple[str, str, str, int]]
    owners: Mapping[str, str]
    opaque: Sequence[tuple[str, str]]
    also: Mapping[str, str]
    stack: Sequence[tuple[str, int, str]]
    problem: str

    def found(self, steps: str) -> Leaf | None:
        """The leaf at a path, which may lead by way of another path of an object."""
        for _ in range(_MOST_TURNS):
            if steps in self.leaves:
                return self.leaves[steps]
            stem = _stem(steps)
            ends = [len(stem), *(end for end in range(len(stem) - 1, 0, -1) if stem.startswith(", ", end))]
            end = next((end for end in ends if stem[:end] in self.also), 0)
            if not end:
                return None
            steps = self.also[stem[:end]]
            if end < len(stem):
                steps = _stem(steps) + stem[end:] + ")"
        return None


def _stem(steps: str) -> str:
    """A path as it is written, without its end: those of what is within begin so."""
    return steps[:-2] if steps.endswith(",)") else steps[:-1]


def same_updates(whole: Path, resumed: Path) -> dict[str, int]:
    """Kind of update → its number in the whole run at which the resumed run makes its first.

    Both end alike, so that from the same update on as many are left of every kind. A round
    of an outer loop that the resumed run begins in its middle is not the same as the whole run's.
    Kinds that begin after the last update in both runs do not count: what is written at the end
    is often as long as what each run made itself.

    Args:
        whole: The folder of its trace.
        resumed: Likewise. Where nothing was counted, or by several processes, the answer is empty.
    """
    return _same(counted(whole), counted(resumed), with_later=False)


def _same(ours: Places, theirs: Places, *, with_later: bool) -> dict[str, int]:
    found = {}
    for kind in theirs:
        here, there = ours.get(kind, []), theirs[kind]
        if not 0 < len(there) < len(here):
            continue
        later = set() if with_later else _later(ours, here[-1]) & _later(theirs, there[-1])
        at = len(here) - len(there)
        if _left(ours, here[at], but=later) == _left(theirs, there[0], but=later):
            found[kind] = at + 1
    return dict(list(found.items())[:_MOST_KINDS])


def shares_made(whole: Path, resumed: Path) -> frozenset[Fraction]:
    """Which shares of the whole run's updates the resumed run made, by kind; of their traces' folders.

    Records are placed by them, so that here as many have to be left of every kind.
    """
    ours, theirs = counted(whole), counted(resumed)
    kinds = _same(ours, theirs, with_later=True)
    return frozenset(Fraction(len(theirs[kind]), len(ours[kind])) for kind in kinds)


def counted(folder: Path) -> dict[str, list[int]]:
    """Kind of update → the places of all of them in the order of all, the first to come first."""
    files = list(folder.glob("updates-*.json"))
    if len(files) != 1:
        return {}
    found = json.loads(files[0].read_text(encoding="utf-8"))
    places: dict[str, list[int]] = {kind: [] for kind in found["counts"]}
    kinds = list(places)
    for place, number in enumerate(found["order"]):
        places[kinds[number]].append(place)
    return {kind: every for kind, every in places.items() if len(every) == found["counts"][kind]}


def _later(places: Places, last: int) -> set[str]:
    """The kinds all of which come after that place."""
    return {kind for kind, every in places.items() if every and every[0] > last}


def _left(places: Places, at: int, *, but: Collection[str]) -> dict[str, int]:
    """How many of each kind come there or later."""
    left = {kind: sum(place >= at for place in every) for kind, every in places.items() if kind not in but}
    return {kind: number for kind, number in left.items() if number}


def recordings(traced: Path) -> dict[str, Recording]:
    """What a run recorded, by the kind of update."""
    found = {}
    for path in sorted(traced.glob("state-*/index.json")):
        index = json.loads(path.read_text(encoding="utf-8"))
        found[str(index["kind"])] = _recording(path.parent, index)
    return found


def _recording(folder: Path, index: Mapping[str, Any]) -> Recording:
    leaves = [
        Leaf(
            path=one["path"],
            steps=one["steps"],
            kind=one["kind"],
            digest=one["digest"],
            root=(one["root"][0], one["root"][1], one["root"][2], one["root"][3]),
            settable=one["settable"],
        )
        for one in index["leaves"]
    ]
    whole = "" if index["whole"] else "more is reachable than is walked"
    return Recording(
        folder=folder,
        leaves={one.steps: one for one in leaves},
        roots=frozenset((name, file, function, line) for name, file, function, line in index["roots"]),
        owners={steps: shown for steps, (shown, kind) in index["nodes"].items() if kind == "object"},
        opaque=[(path, kind) for path, kind in index["opaque"]],
        also={_stem(path): one for path, one in index["also"]},
        stack=[(file, line, function) for file, line, function in index["stack"]],
        problem=index["problem"] or whole,
    )


def differing(whole: Recording, resumed: Recording) -> tuple[Leaf, ...]:
    """Leaves of the whole run that the resumed run has otherwise, or lacks; the likeliest state first.

    A variable that the resumed run does not have yet is none: it goes on without. An object that the two
    runs reach by different paths has that of the resumed run.
    """
    found = {}
    for steps, leaf in whole.leaves.items():
        here = resumed.found(steps)
        if leaf.kind != "length" and leaf.root in resumed.roots and leaf.digest != _digest(here):
            found[here.steps if here else steps] = replace(here, source=steps) if here else leaf
    for steps, here in resumed.leaves.items():
        there = None if steps in whole.leaves else whole.found(steps)
        if there is not None and there.kind != "length" and there.digest != here.digest:
            found[steps] = replace(here, source=there.steps)
    return tuple(sorted(found.values(), key=lambda one: _KINDS.index(one.kind)))


_KINDS = ("generator", "array", "list", "value")


def _digest(leaf: Leaf | None) -> str:
    return leaf.digest if leaf else ""


def owner_of(leaf: Leaf, *within: Recording) -> str:
    """The nearest object that holds a leaf: its steps, or those of the leaf where it stands by itself."""
    if leaf.kind == "generator":
        return leaf.steps
    ends = [end for end in range(len(leaf.steps)) if leaf.steps[end] == ","]
    for end in reversed(ends):
        for made in (leaf.steps[:end] + ")", leaf.steps[:end] + ",)"):
            if any(made in side.owners for side in within):
                return made
    return leaf.steps
