"""Threads whose interleaving makes two runs differ, found by running them one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reprokit import diagnosis
from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.free_runs import FreeRuns
from reprokit.harness.diagnosing.inquiry import Investigation, all_held


def in_turn(inquiry: Investigation) -> tuple[Cause, ...]:
    """Threads whose interleaving makes the runs differ: run one after another, runs are equal.

    Every run with some of them in turn has to equal the first that had all in turn. Where one differs, those
    in turn made nothing equal: it is one more free run.
    """
    sites = tuple(one for one in inquiry.first.trace.sites if one.startswith("thread_order|"))
    if not sites:
        return ()
    lab = inquiry.lab
    standard = lab.run("threads-in-turn", _given(inquiry, ("*",)))
    free = FreeRuns(inquiry)
    seen: list[tuple[frozenset[str], bool]] = []

    def equal(some: Sequence[str]) -> bool:
        ran = lab.run("threads-in-turn", _given(inquiry, ("*",) if tuple(some) == sites else some))
        seen.append((frozenset(some), lab.equal(standard, ran)))
        if not (seen[-1][1] or ran.trouble):
            free.add(ran)
        return seen[-1][1]

    if standard.trouble or not equal(sites):
        return ()
    held = diagnosis.isolate(sites, enough=lambda some: not lab.spent and equal(some))
    confidence = "high"
    while True:
        found = [same for some, same in seen if set(held) <= some]
        if not all(found):
            return ()
        odds = free.odds(len(found), standard, looks=len({some for some, _ in seen}))
        if odds.enough:
            break
        if lab.spent:
            confidence = "medium"
            break
        equal(held)
    inquiry.confidence, inquiry.odds_of_others = confidence, odds
    named = [inquiry.first.trace.sites[one] for one in held]
    return tuple(diagnosis.cause_of(site, confidence=confidence) for site in named)


def _given(inquiry: Investigation, serial: Sequence[str]) -> Conditions:
    return replace(all_held(inquiry), serial=tuple(serial))
