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
    inquiry.confidence = "high"
    found = [inquiry.first.trace.sites[one] for one in held]
    return tuple(diagnosis.cause_of(site, confidence="high") for site in found)


def _equal_in_turn(inquiry: Investigation, serial: tuple[str, ...]) -> bool:
    given = replace(all_held(inquiry), serial=serial)
    one, other = (inquiry.lab.run("threads-in-turn", given) for _ in range(2))
    return not one.trouble and inquiry.lab.equal(one, other)
