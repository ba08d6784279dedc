"""The result of a selftest, as lines and for ``--json``: each kind of fault, and what was missed.

Every ``score`` is a ``score.Score``, every ``proof`` a ``gate.GateProof``; ``command`` is
the command line that plants a fault again, without the fault's ID.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from reprokit.reports.escaping import one_line

_SHOWN = 10


def kind_rows(score: Any) -> Iterator[tuple[str, str, str, str]]:
    """A row for each kind of fault: its title, how many were planted, found and missed."""
    for row in score.rows.values():
        missed = "" if row.right == row.planted else f"MISSED {row.planted - row.right}"
        yield row.title, f"{row.planted:,}", f"{row.right:,}", missed


def note_lines(score: Any) -> Iterator[str]:
    """Notes on the runs, and the faults that could not be planted in them."""
    yield from (f"Note: {one_line(note)}" for note in score.notes)
    if score.not_planted:
        yield f"Not planted, since these runs have no place for it: {', '.join(score.not_planted)}"


def end_lines(score: Any, *, command: Sequence[str]) -> Iterator[str]:
    """What was missed and how to repeat it, then whether the gate can be trusted."""
    for miss in score.misses[:_SHOWN]:
        yield f"Missed: {one_line(miss.planted)}: {one_line(miss.because)}"
        yield f"  {_replay(score, miss.id, command)}"
    if len(score.misses) > _SHOWN:
        yield f"… and {len(score.misses) - _SHOWN} more"
    faults, clean = f"{score.found:,} of {score.planted:,} faults", score.clean
    copies = f"{clean.right:,} of {clean.planted:,} clean copies"
    came = f"{faults} led to their verdict, {copies} to REPRODUCED."
    if score.exit_code == 0 and score.kinds_left:
        left = f"{score.kinds_left} kinds were not planted"
        yield f"Too few faults to say that the gate can be trusted: {left}. {came}"
    else:
        yield f"The gate {'can' if score.exit_code == 0 else 'cannot'} be trusted: {came}"


def one_fault_lines(score: Any) -> Iterator[str]:
    """The one fault that was planted again: what was expected, and what the gate said."""
    if (judged := score.last) is not None:
        yield f"planted   {one_line(judged.planted)}"
        yield f"expected  {judged.expected}"
        yield f"answer    {judged.answer.outcome}, exit code {judged.answer.exit_code}"
        yield f"          {one_line(judged.answer.said)}"
        yield "Found." if judged.is_right else f"Missed: {one_line(judged.because)}."


def proof_lines(proof: Any) -> Iterator[str]:
    """What the gate's own selftest came to, in a line where all is well."""
    yield ""
    if proof.score is not None:
        yield from end_lines(proof.score, command=again(runs=proof.runs))
    elif proof.trusted:
        yield f"No selftest on the runs of {one_line(proof.recipe)}: {one_line(proof.because)}"
    else:
        yield f"The gate cannot be trusted: {one_line(proof.because)}"


def proof_data(proof: Any) -> dict[str, Any]:
    """The same for ``--json``."""
    command = again(runs=proof.runs)
    score = score_data(proof.score, recipe=proof.recipe, command=command) if proof.score else None
    return {"recipe": proof.recipe, "trusted": proof.trusted, "because": proof.because, "score": score}


def score_data(score: Any, *, recipe: str, command: Sequence[str]) -> dict[str, Any]:
    """A whole score for ``--json``."""
    return {
        "exit_code": score.exit_code,
        "recipe": recipe,
        "seed": score.seed,
        "faults": {"planted": score.planted, "found": score.found},
        "clean": {"copies": score.clean.planted, "reproduced": score.clean.right},
        "kinds": [asdict(row) for row in score.rows.values()],
        "misses": [
            {
                "id": miss.id,
                "planted": miss.planted,
                "expected": miss.expected,
                "answer": miss.answer.outcome,
                "exit_code": miss.answer.exit_code,
                "because": miss.because,
                "replay": _replay(score, miss.id, command),
            }
            for miss in score.misses
        ],
        "not_planted": score.not_planted,
        "notes": score.notes,
    }


def again(recipe: str = "", *, runs: Iterable[str] = ()) -> list[str]:
    """The command that plants faults in copies of these runs, or of the newest of a recipe."""
    words = ["reprokit", "verify", "--selftest-only"]
    return [*words, recipe] if recipe else [*words, "--copy-of", *runs]


def _replay(score: Any, fault: str, command: Sequence[str]) -> str:
    """The command that plants one fault again."""
    return shlex.join([*command, "--faults-seed", str(score.seed), "--fault", fault])
