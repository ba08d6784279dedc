"""Why a call of compiled code differs: what it asks for and its memory held, alone and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reprokit import diagnosis
from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.call_experiments import Alike, Proof
from reprokit.harness.diagnosing.odds import ACCEPTED
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.harness.diagnosing.taps.seen import Asked, asked_around, asked_in
from reprokit.variations import Variation

ADDRESSES, MEMORY, CORES = "addresses", "memory", "cores"
#: A look at some of what was shown to decide is repeated where luck would give it as often.
_LUCK_IN_SEARCH = 0.1
_LIKELY = {"entropy": 4.0}
#: Held only where nothing else is enough: fixed addresses make unwritten memory mostly the same, too.
_LAST = {"clock", ADDRESSES, CORES}
#: Category → what to do; the first of what is held gives the category.
_FIXES = {
    "unseeded_rng": "no seed of the program reaches it: make it once, keep that and load it in every run",
    "clock": "what it takes from the clock must not reach a number: give it that as a setting",
    "concurrency": "let it work with one thread",
    "uninitialised_memory": "it reads memory that was not written before: give it memory that was",
    "hash_order": "sort what it gives, or ask it to keep the order of its input",
}
_CATEGORIES = {
    "entropy": "unseeded_rng",
    "clock": "clock",
    "threads": "concurrency",
    "locks": "concurrency",
    MEMORY: "uninitialised_memory",
}
_SAYS = {
    "entropy": "{0} {draws} entropy",
    "clock": "{0} {reads} a clock",
    "threads": "threads that {0} {starts} work in another order",
    "locks": "threads that {0} {starts} take locks in another order",
    MEMORY: "it depends on what fresh memory holds",
    ADDRESSES: "it depends on addresses in memory",
    CORES: "it depends on threads that work at the same time",
}
#: What decides together with threads, the likeliest first.
_USUAL = ((), (ADDRESSES,), ("entropy",), ("clock",), ("clock", ADDRESSES), ("entropy", ADDRESSES))
#: Libraries make the keys of hash tables from both, so that no order can be foreseen; no generator does.
_KEYS_OF_HASHES = {"clock", ADDRESSES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What was shown to decide.

    Attributes:
        held: The smallest set of ``entropy``, ``clock``, ``threads``, ``locks``, ``memory``, ``addresses``
            and ``cores``, of which one is left.
        why: In words.
        alone: Whether nothing of another category has to be held besides.
    """

    held: tuple[str, ...]
    category: str
    why: str
    fix: str
    alone: bool = True


def what_decides(
    proof: Proof,
    one: Candidate,
    taps: Taps | None,
    *,
    layout: Variation | None,
    memory: Variation | None = None,
    cores: Variation | None = None,
) -> Decided | None:
    """The smallest set that is enough to hold; None where all of what was seen is not.

    Args:
        proof: Whose kept run had the taps in it.
        one: The call.
        taps: What to preload, or None.
        layout: How addresses are held; None where they cannot be.
        memory: How the contents of fresh memory are held; None where they cannot be.
        cores: How all threads share one core, tried where the rest is not enough; None where there are none.
    """
    asked = _asked(proof, one) if taps and proof.kept else ()
    kinds = [kind for kind in _CATEGORIES if any(kind in other.kinds for other in asked)]
    units = (*kinds, *([MEMORY] if memory else []), *([ADDRESSES] if layout else []))
    ways = {ADDRESSES: layout, MEMORY: memory, CORES: cores}
    held = _isolated(proof, taps, units, ways) if units else None
    if held is None and cores is not None:
        held = _first_enough(proof, taps, units, ways)
    if not held:
        return None
    category = _category(held, layout)
    fix = layout.fix if layout and category == layout.category else _FIXES[category]
    keys = _KEYS_OF_HASHES if category == "hash_order" else set()
    said = ["the keys of its hash tables come from a clock and from addresses in memory"] if keys else []
    why = ", and ".join([*said, *(_says(kind, asked) for kind in held if kind not in keys)])
    alone = category == "hash_order" or len({_CATEGORIES[kind] for kind in held if kind in _CATEGORIES}) < 2
    return Decided(held=held, category=category, why=why, fix=fix, alone=alone)


def _category(held: Sequence[str], layout: Variation | None) -> str:
    if set(held) >= _KEYS_OF_HASHES and not {"entropy", MEMORY} & set(held):
        return "hash_order"
    found = next((_CATEGORIES[kind] for kind in held if kind in _CATEGORIES), "")
    return found or (layout.category if layout and ADDRESSES in held else "concurrency")


def _asked(proof: Proof, one: Candidate) -> tuple[Asked, ...]:
    """What compiled code asked for inside the call; and of entropy, which is kept, what it drew before."""
    ran = proof.kept[0]
    inside = asked_around(ran, one.site)
    entropy = any("entropy" in other.kinds for other in inside)
    earlier = () if entropy else tuple(replace(other, clocks=0, threads=0) for other in asked_in(ran))
    return inside + earlier if inside else asked_in(ran)


def _first_enough(
    proof: Proof, taps: Taps | None, units: tuple[str, ...], ways: Mapping[str, Variation | None]
) -> tuple[str, ...] | None:
    """The first of the usual sets with which runs on one core repeat one another.

    Each is asked alone: runs in which more is held repeat too, and may give something else. After the first
    all of them together are: where runs differ then, no other set is tried (see ``Proof.equal_under``).
    """
    sets = [(*some, CORES) for some in _USUAL if set(some) <= set(units)]
    for looks, some in enumerate(sets, start=1):
        if looks == 2 and len(sets) > 2:
            _alike(proof, taps, [*dict.fromkeys(kind for one in sets for kind in one)], ways, looks=looks)
        found = _alike(proof, taps, some, ways, looks=looks)
        before = found.odds.repeated if found else 0
        if found and _alike(
            proof, taps, some, ways, like=found, accepted=ACCEPTED, before=before, looks=looks
        ):
            return some
    return None


def _alike(
    proof: Proof,
    taps: Taps | None,
    some: Sequence[str],
    ways: Mapping[str, Variation | None],
    *,
    like: Alike | None = None,
    accepted: float = _LUCK_IN_SEARCH,
    before: int = 0,
    looks: int,
) -> Alike | None:
    """Runs that repeat one another, or ``like``, while some is held; None where one differs."""
    kinds = tuple(kind for kind in some if kind not in ways)
    given = [way for kind in some if (way := ways.get(kind))]
    return proof.equal_under(
        taps=replace(taps, hold=kinds) if taps and kinds else None,
        start=tuple(word for way in given for word in way.start),
        environment={name: value for way in given for name, value in way.environment.items()},
        like=like.run if like else None,
        accepted=accepted,
        before=before,
        looks=looks,
    )


def _isolated(
    proof: Proof,
    taps: Taps | None,
    units: tuple[str, ...],
    ways: Mapping[str, Variation | None],
) -> tuple[str, ...] | None:
    """The smallest set with which runs equal those in which all is held."""
    made: dict[tuple[str, ...], int] = {}

    def alike(
        some: Sequence[str], *, like: Alike | None = None, accepted: float = _LUCK_IN_SEARCH, before: int = 0
    ) -> Alike | None:
        tried = max(1, len(made) - 1)  # all of them were no choice
        return _alike(proof, taps, some, ways, like=like, accepted=accepted, before=before, looks=tried)

    everything = alike(units)
    if everything is None:
        return None
    made[units] = everything.odds.repeated

    def enough(some: tuple[str, ...]) -> bool:
        found = alike(some, like=everything)
        made[some] = found.odds.repeated if found else 0
        return found is not None

    held = diagnosis.isolate(
        units,
        enough=enough,
        last=[kind for kind in units if kind in _LAST and len(units) > 1],
        weight=lambda kind: _LIKELY.get(kind, 1.0),
    )
    if len(held) > 1 and ADDRESSES in held and alike((ADDRESSES,), accepted=ACCEPTED) is not None:
        return (ADDRESSES,)  # fixed alone, they give the same each time, and not what comes with all held
    for some in dict.fromkeys((held, units)):
        repeated = sum(count for others, count in made.items() if set(some) <= set(others))
        if alike(some, like=everything, accepted=ACCEPTED, before=repeated) is not None:
            return some
    return None


def _says(kind: str, asked: Sequence[Asked]) -> str:
    names = [one.name for one in asked if kind in one.kinds]
    plural = len(names) > 1
    verbs = {word: word[:-1] if plural else word for word in ("draws", "reads", "starts")}
    return _SAYS[kind].format(" and ".join(names), **verbs)
