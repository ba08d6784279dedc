"""When the taps are preloaded, and what is said of what they saw and did not see."""

from __future__ import annotations

import secrets
import time

from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.call_experiments import Proof
from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.taps.library import library_here
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.harness.diagnosing.taps.seen import asked_around, asked_in, not_seen, sentence

_UNSEEN = "what compiled code draws, which clocks it reads and which threads it starts is not seen"


def preload_taps(inquiry: Investigation) -> None:
    """From now on, runs in which calls are kept have the taps in them; where there are none, that is said."""
    found = library_here()
    if found.path is None:
        inquiry.known.append(f"no native taps, {found.problem}: {_UNSEEN}")
        return
    inquiry.taps = Taps(library=found.path, key=secrets.token_hex(16), now=int(time.time()))


def tell(proof: Proof, one: Candidate) -> None:
    """Say what compiled code asked for inside a call, and where the taps were not loaded."""
    inquiry = proof.inquiry
    if inquiry.taps is None or not proof.kept:
        return
    ran = proof.kept[0]
    asked = asked_around(ran, one.site)
    if asked:
        inquiry.known.append(f"{sentence(asked)} inside {one.name}, {one.file}:{one.line}")
    orders = [
        {seen.name: seen.order for seen in asked_in(other) if seen.kinds & {"locks"}} for other in proof.kept
    ]
    for name in orders[0].keys() & orders[-1].keys():
        if orders[0][name] != orders[-1][name]:
            inquiry.known.append(f"in two runs, threads took the locks of {name} in another order")
    programs = not_seen(ran)
    if programs:
        names = ", ".join(programs)
        inquiry.known.append(f"native taps were not loaded in {names}: nothing of it is ruled out")
