"""Threads whose interleaving makes two runs differ, found by running them one after another."""

from __future__ import annotations

from dataclasses import replace

from reprokit import diagnosis
from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing.inquiry import Investigation, all_held


def in_turn(inquiry: Investigation) -> tuple[Cause, ...]:
    """Threads whose interleaving makes the runs differ: run one after another, two runs are equal."""
    sites = [one for one in inquiry.first.trace.sites if one.startswith("thread_order|")]
    if not sites or not _equal_in_turn(inquiry, ("*",)):
        return ()
    held = tuple(sites)
    if len(sites) > 1:
        held = diagnosis.isolate(
            sites, enough=lambda some: not inquiry.lab.spent and _equal_in_turn(inquiry, some)
        )
    confidence = _confirmed(inquiry, held)
    if confidence is None:
        return ()
    inquiry.confidence = confidence
    found = [inquiry.first.trace.sites[one] for one in held]
    return tuple(diagnosis.cause_of(site, confidence=confidence) for site in found)


def _confirmed(inquiry: Investigation, serial: tuple[str, ...]) -> str | None:
    """The confidence after so many equal runs that they are no luck; None where one of them differs."""
    given = replace(all_held(inquiry), serial=serial)
    first = inquiry.lab.run("threads-in-turn", given)
    repeated = 1
    while not replace(inquiry.odds(()), repeated=repeated).enough:
        if inquiry.lab.spent:
            return "medium"
        repeated += 1
        if not inquiry.lab.equal(first, inquiry.lab.run("threads-in-turn", given)):
            return None
    return "high"


def _equal_in_turn(inquiry: Investigation, serial: tuple[str, ...]) -> bool:
    given = replace(all_held(inquiry), serial=serial)
    one, other = (inquiry.lab.run("threads-in-turn", given) for _ in range(2))
    return not one.trouble and inquiry.lab.equal(one, other)
