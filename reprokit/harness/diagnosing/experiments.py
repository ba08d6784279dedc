"""Which candidates are causes: runs in which all but some of them are held fixed.

The values of one run at a candidate line are replayed in another run. Where that makes the runs equal, and
replaying the other run's values reproduces the other run, the line is a cause. What is equal by chance, and
changes nothing, is no cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from reprokit import diagnosis
from reprokit.diagnosis import Began, Cause
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnosis import RuledOut
from reprokit.harness.diagnosing.instrumented_runs import Laboratory
from reprokit.harness.running.apply_variations import joined
from reprokit.variations import Variation

HASH_SEED, LEFTOVERS, VARIATION = "hash seed", "leftovers", "variation "
#: How often runs must be equal: for a result that is believed, and where they were equal by luck before.
_CONFIRMATIONS, _CAREFUL = 2, 5
#: How often what was held must bring the difference back, each time, for it not to be luck.
_MOVES = 3
_BY_HASH = {"set_order", "hash"}
_BY_TIME = ("thread_order", "completion_order", "thread_state", "queue_order")


@dataclass(slots=True)
class Inquiry:
    """What is known so far about two runs.

    Attributes:
        other: A run that differs from it.
        variations: What was varied for ``other``.
        causes: What was found without holding a line.
        confidence: Of what is held.
        began: Where it began, as far as that is known.
    """

    lab: Laboratory
    first: InstrumentedRun
    other: InstrumentedRun
    variations: tuple[Variation, ...] = ()
    causes: tuple[Cause, ...] = ()
    known: list[str] = field(default_factory=list)
    ruled_out: list[RuledOut] = field(default_factory=list)
    not_varied: list[RuledOut] = field(default_factory=list)
    confidence: str = "medium"
    began: Began | None = None


def under(chosen: Sequence[Variation], first: InstrumentedRun) -> Conditions:
    """The conditions of a run under variations."""
    found = joined(chosen)
    return Conditions(
        like=first,
        vary=found.vary,
        environment=found.environment,
        run_folder=found.run_folder or "run",
        start=found.start,
        cpu=found.cpu,
    )


def explain(inquiry: Inquiry) -> tuple[str, ...] | None:
    """The smallest set to hold fixed for the other run to equal the first; None where nothing is enough."""
    lab = inquiry.lab
    lab.progress.phase("isolate")
    units = _units(inquiry)
    if not units or not _enough(inquiry, units):
        return None
    held = _isolated(inquiry, units, repeats=1)
    if not _enough(inquiry, held, repeats=_CONFIRMATIONS):  # equal by luck: ask more than once
        held = _isolated(inquiry, units, repeats=_CAREFUL)
        if not _enough(inquiry, held, repeats=_CAREFUL):
            inquiry.known.append("what was held fixed made the runs equal only sometimes")
            return None
    rest = _rest(units, held)
    before = lab.made
    if not _brings_back(inquiry, held, rest):
        inquiry.known.append(_suspected(inquiry, held, made=lab.made - before))
        return None
    if not rest or (not lab.spent and not _enough(inquiry, rest, repeats=_CONFIRMATIONS)):
        inquiry.confidence = "high"
    for one in rest:
        how = "left to chance, the runs are equal all the same"
        inquiry.ruled_out.append(RuledOut(what=_described(inquiry, one), how=how))
    return held


def _described(inquiry: Inquiry, unit: str) -> str:
    site = inquiry.first.trace.sites.get(unit)
    return f"{site.file}:{site.line} ({site.kind})" if site else unit


def _rest(units: tuple[str, ...], held: tuple[str, ...]) -> tuple[str, ...]:
    """What else could be held; the hash seed counts as the order that it decides."""
    by_hash = any(one.split("|")[0] in _BY_HASH for one in held)
    return tuple(
        one
        for one in units
        if one not in held and not (by_hash and one == HASH_SEED) and not one.startswith(VARIATION)
    )


def _brings_back(inquiry: Inquiry, held: tuple[str, ...], rest: tuple[str, ...]) -> bool:
    """Whether the difference follows what was held fixed, and not something rare that was not recorded.

    A rare, unrecorded cause leaves most runs equal, whatever is held. Given the other run's values, though, a
    run equals that other run each time only by the cause. Otherwise, most runs in which the suspected lines
    alone are left free must differ, and none in which they are held.
    """
    if all(_reproduces(inquiry, held) for _ in range(_MOVES)):
        return True
    if not _enough(inquiry, held, repeats=_CAREFUL - _CONFIRMATIONS):
        return False
    differed = sum(not _equal_with(inquiry, rest) for _ in range(_CAREFUL))
    return 2 * differed > _CAREFUL


def _reproduces(inquiry: Inquiry, held: tuple[str, ...]) -> bool:
    """Whether one more run with the other's values equals it; or, when varied, differs with nothing held.

    The other run may have been made under variations, or beside leftovers: where lines alone reproduce it
    without those, that shows more than that they make a difference.
    """
    lab, other = inquiry.lab, inquiry.other
    elsewhere = bool(inquiry.variations) or LEFTOVERS in held
    if all(_is_site(one) or one == HASH_SEED for one in held):
        pins = tuple(one for one in held if _is_site(one))
        given = Conditions(pins=pins, like=other, hash_seed=HASH_SEED in held)
        if lab.equal(other, lab.run("as-the-other", given)):
            return True
    return elsewhere and not _equal_with(inquiry, ())


def _suspected(inquiry: Inquiry, held: tuple[str, ...], *, made: int) -> str:
    names = ", ".join(_described(inquiry, one) for one in held)
    return (
        f"{names}: suspected, not proven: with it held fixed the runs were equal, "
        f"but it did not reproduce the difference each time ({made} more runs)"
    )


def _units(inquiry: Inquiry) -> tuple[str, ...]:
    """Everything that could be held: lines whose values differ, hash seed, leftovers, variations."""
    units = list(diagnosis.differing(inquiry.first.trace, inquiry.other.trace))
    units.reverse()  # the line nearest to the numbers first: sorting a listing mends more than its names do
    if not inquiry.lab.hash_is_fixed:
        units.append(HASH_SEED)
    if inquiry.lab.left:
        units.append(LEFTOVERS)
    return (*units, *(VARIATION + one.name for one in inquiry.variations))


def _isolated(inquiry: Inquiry, units: tuple[str, ...], *, repeats: int) -> tuple[str, ...]:
    general = [one for one in units if not _is_site(one)]
    general += [one for one in units if one.startswith("thread_order|")]
    return diagnosis.isolate(
        units,
        last=general,
        enough=lambda some: not inquiry.lab.spent and _enough(inquiry, some, repeats=repeats),
    )


def _enough(inquiry: Inquiry, held: Sequence[str], *, repeats: int = 1) -> bool:
    """Whether holding these makes runs equal to the first: every one of them."""
    return all(_equal_with(inquiry, held) for _ in range(repeats))


def _equal_with(inquiry: Inquiry, held: Sequence[str]) -> bool:
    varied = [one for one in inquiry.variations if VARIATION + one.name not in held]
    given = replace(
        under(varied, inquiry.first),
        pins=tuple(one for one in held if _is_site(one)),
        hash_seed=HASH_SEED in held,
        fresh=LEFTOVERS in held,
    )
    return inquiry.lab.equal(inquiry.first, inquiry.lab.run(_label(held), given))


def _label(held: Sequence[str]) -> str:
    one = held[0].split("|") if len(held) == 1 else []
    return f"held-{one[0].replace(' ', '-')}-{one[-1]}"[:60] if one else f"held-{len(held)}"


def _is_site(unit: str) -> bool:
    return "|" in unit


def in_turn(inquiry: Inquiry) -> tuple[Cause, ...]:
    """Threads whose interleaving makes the runs differ: run one after another, two runs are equal."""
    sites = [one for one in inquiry.first.trace.sites if one.startswith("thread_order|")]
    if not sites or not _equal_in_turn(inquiry, ("*",)):
        return ()
    held = tuple(sites)
    if len(sites) > 1:
        held = diagnosis.isolate(
            sites, enough=lambda some: not inquiry.lab.spent and _equal_in_turn(inquiry, some)
        )
    inquiry.confidence = "high"
    found = [inquiry.first.trace.sites[one] for one in held]
    return tuple(diagnosis.cause_of(site, confidence="high") for site in found)


def _equal_in_turn(inquiry: Inquiry, serial: tuple[str, ...]) -> bool:
    given = replace(all_held(inquiry), serial=serial)
    one, other = (inquiry.lab.run("threads-in-turn", given) for _ in range(2))
    return not one.trouble and inquiry.lab.equal(one, other)


def all_held(inquiry: Inquiry) -> Conditions:
    """Everything that can be held is the first run's."""
    return Conditions(pins=("*",), like=inquiry.first, hash_seed=True, fresh=True)
