"""Runs in which some of what was recorded is the first run's, or the other run's, and what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from reprokit import diagnosis
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.harness.diagnosing.evidence import MANY
from reprokit.harness.diagnosing.inquiry import (
    HASH_SEED,
    LEFTOVERS,
    VARIATION,
    Investigation,
    is_site,
    under,
)
from reprokit.harness.diagnosing.odds import in_full_precision


def equal_with(inquiry: Investigation, held: Sequence[str], *, closely: bool = False) -> bool:
    """Whether one more run in which these are held, and all else is not, equals the first."""
    varied = [variation for variation in inquiry.variations if VARIATION + variation.name not in held]
    closely = closely or (inquiry.lab.cut is None and inquiry.close_pair[0] is None)
    given = replace(
        under(varied, inquiry.first),
        pins=tuple(one for one in held if is_site(one)),
        hash_seed=HASH_SEED in held,
        fresh=LEFTOVERS in held,
        progress=_closely(inquiry) if closely else {},
        short=not closely,
    )
    ran = inquiry.lab.run(_label(held), given)
    equal = inquiry.saw(ran, held=held)
    if closely and equal:
        inquiry.close_pair[0] = ran
    return equal


def reproduces(inquiry: Investigation, held: tuple[str, ...], *, closely: bool = False) -> bool:
    """Whether one more run with the other's values equals it; or, when varied, differs.

    The other run may have been made under variations, or next to leftovers: where lines alone reproduce it
    without those, that shows more than that they make a difference.
    """
    lab, other = inquiry.lab, inquiry.other
    varied = [variation for variation in inquiry.variations if VARIATION + variation.name in held]
    if LEFTOVERS in held:
        found = not equal_with(inquiry, ())
    else:
        pins = tuple(one for one in held if is_site(one))
        given = replace(under(varied, other), pins=pins, hash_seed=HASH_SEED in held)
        closely = closely and inquiry.close_pair[1] is None
        given = replace(given, progress=_closely(inquiry) if closely else {}, short=not closely)
        ran = lab.run("as-the-other", given)
        found = lab.equal(other, ran) or (
            bool(varied) and not ran.trouble and not lab.equal(inquiry.first, ran)
        )
        if found and closely:
            inquiry.close_pair[1] = ran
        inquiry.by_replay = inquiry.by_replay or _became_the_other(inquiry, ran)
    inquiry.given_runs.append((frozenset(held), found))
    if found:
        inquiry.expect()
    return found


def _became_the_other(inquiry: Investigation, ran: InstrumentedRun) -> bool:
    """Whether a run became the other one in more digits than come again by luck."""
    lab, other = inquiry.lab, inquiry.other
    differs_always = inquiry.evidence(()).results > MANY - 1 and not inquiry.odds(()).equal
    if inquiry.is_rare or inquiry.variations or not (differs_always and lab.equal(other, ran)):
        return False
    return in_full_precision(lab.compare(inquiry.first, other))


def _closely(inquiry: Investigation) -> dict[str, Any]:
    """Orders for a run to be looked at where the two runs begin to differ; none where that is not known."""
    coarse = diagnosis.first_difference(inquiry.first.trace, inquiry.other.trace)
    return {} if coarse is None else {"mode": "narrow", "from": coarse.since, "to": coarse.until}


def _label(held: Sequence[str]) -> str:
    one = held[0].split("|") if len(held) == 1 else []
    return f"held-{one[0].replace(' ', '-')}-{one[-1]}"[:60] if one else f"held-{len(held)}"
