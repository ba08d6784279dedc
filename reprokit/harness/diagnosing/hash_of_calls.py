"""The call that depends on Python's hash seed, where no line of the program does but a library's code."""

from __future__ import annotations

from dataclasses import replace

from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.call_experiments import Proof
from reprokit.harness.diagnosing.first_call import Look, look_at_calls
from reprokit.harness.diagnosing.inquiry import HASH_SEED, Investigation
from reprokit.harness.diagnosing.named_causes import named_causes


def line_of_hash(inquiry: Investigation) -> None:
    """Where the hash seed was shown to decide: name the call that gives something else with another one."""
    inquiry.hash_is_free = True
    inquiry.whole_runs.clear()  # in some of them it was held
    look = look_at_calls(inquiry)
    one = _first(inquiry, look) if look is not None and look.unlike.candidates else None
    if one is not None:
        (cause,) = named_causes(inquiry, (HASH_SEED,))
        what = f"{one.name}: gives a different result for the same input: it depends on Python's hash seed"
        inquiry.causes = (replace(cause, file=one.file, line=one.line, what=what),)


def _first(inquiry: Investigation, look: Look) -> Candidate | None:
    """The call whose substitution makes runs equal; the only one that differs, unless that shows it innocent.

    A model that holds a set differs, and what a later call draws by a hash of its own does not follow from
    that: where the model is innocent, the first call of it that differs is looked at next.
    """
    candidates = look.unlike.candidates
    is_only = len(candidates) == 1 and not look.unlike.sampled
    proof = Proof(inquiry, look.runs)
    try:
        if is_only:
            if not proof.refutes(candidates[0]):
                return candidates[0]
            proof.remove()
            candidates, proof = look.unlike.followers[:1], Proof(inquiry, look.runs)
        held = proof.held(candidates) if candidates and proof.begin(candidates) else ()
    finally:
        proof.remove()
    return held[0] if held else None
