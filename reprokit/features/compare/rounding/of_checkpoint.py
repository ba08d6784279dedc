"""``--from-checkpoint``: late records judged with both sides, and twins, begun from one checkpoint of side a.

It is asked only where the whole comparison does not judge the end. What lies before the checkpoint is judged
by the whole runs alone: where these do not say rounding up to there, nothing is called so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.errors import MetricsError, ReprokitError
from reprokit.features.compare.answer import SIDES, Answer, Word
from reprokit.features.compare.judge import judged
from reprokit.features.compare.rounding.checkpoint_runs import (
    TWINS_AFTER,
    CheckpointRuns,
    MakeFrom,
    must_begin_there,
    point_of,
)
from reprokit.features.compare.rounding.decide import evidence_up_to, with_rounding
from reprokit.features.compare.rounding.evidence import first_place, rounding_evidence, series_of
from reprokit.features.compare.rounding.made_twins import MadeTwins
from reprokit.features.compare.rounding.of_pair import metrics_of, needed_twins
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.sentences import extent, hint_of, times
from reprokit.variations import Variation

#: Of an answer that is not unjudged.
NOT_NEEDED = "the whole runs are judged without it"


def make_from_checkpoint(
    twins: MadeTwins, made: Mapping[str, tuple[Path, ...]], makers: Mapping[str, MakeFrom]
) -> None:
    """Make the runs that begin from the checkpoint, where they can say more than the whole ones."""
    answer = with_rounding(judged(made, selected=twins.selected), made, twins)
    step = twins.asked.from_step
    if step is None or _why_not(answer, made, twins, step):
        return
    try:
        twins.begun = _made_runs(made, makers, step, only=twins.selected.only)
    except ReprokitError as error:
        twins.begun_why = error.told()


def with_checkpoint(answer: Answer, made: Mapping[str, Sequence[Path]], twins: MadeTwins) -> Answer:
    """The answer with what runs from the checkpoint say of the records after it. Nothing is run."""
    step = twins.asked.from_step
    if step is None or answer.rounding is None:
        return answer
    told: dict[str, Any] = {"step": step, "answer": str(Finding.UNJUDGED), "runs": None, "why": ""}
    if twins.begun is not None:
        told["runs"] = twins.begun.as_data()
    why_not = _why_not(answer, made, twins, step)
    if why_not:
        told |= {"why": why_not}
    elif twins.begun is None:
        told |= {"why": twins.begun_why}
    else:
        told |= _judged(made, twins.begun, step, only=twins.selected.only)
    rounding = {**answer.rounding, "from_checkpoint": told}
    if why_not == NOT_NEEDED:
        note = f"no run began from the checkpoint of step {step}: {why_not}"
        return replace(answer, rounding=rounding, notes=(*answer.notes, note))
    word = _WORDS[told["answer"]]
    rounding["answer"] = str(word)
    sentence = _sentence(answer, told)
    if word is not Word.UNJUDGED:
        rounding["why"] = ""
    hint = hint_of(answer, rounding)
    return replace(answer, answer=word, sentence=sentence, hint=hint, rounding=rounding)


_WORDS = {
    "equal": Word.ROUNDING,  # no more than that: before the checkpoint the sides may differ as rounding does
    "rounding": Word.ROUNDING,
    "different": Word.DIFFERENT,
    "unjudged": Word.UNJUDGED,
}


def _why_not(answer: Answer, made: Mapping[str, Sequence[Path]], twins: MadeTwins, step: int) -> str:
    """Why runs from the checkpoint say nothing here; "" where they do."""
    if answer.answer is not Word.UNJUDGED or answer.rounding is None:
        return NOT_NEEDED
    if twins.runs is None or "metrics" not in answer.rounding:
        return f"what comes before it is not judged: {answer.rounding['why']}"
    try:
        beginning = evidence_up_to(step, answer, made, twins.runs)
    except (ReprokitError, MetricsError) as error:
        return f"what comes before it is not judged: {error}"
    if beginning["answer"] not in {Finding.EQUAL, Finding.ROUNDING}:
        return f"what comes before it is {beginning['answer']}: {beginning['why'] or 'more than rounding'}"
    late = _not_judged_after(made["a"][0], answer.rounding["metrics"], step)
    return f"no whole run is judged after it, of {late}: name an earlier one" if late else ""


def _not_judged_after(a: Path, metrics: Mapping[str, Mapping[str, Any]], step: int) -> str:
    """A metric logged before and after the checkpoint whose records after it are all unjudged; "" for none.

    What a side did right before the checkpoint shows in records after it, and not in runs begun there.
    """
    series, is_seen = series_of(a, tuple(metrics)), False
    for name, one in metrics.items():
        steps = series[name].steps if name in series else []
        is_after = any(at > step for at in steps[: one["until"]])
        if steps and steps[0] <= step and one["until"] < len(steps) and not is_after:
            return name
        is_seen = is_seen or is_after
    return "" if is_seen else "any metric"


def _made_runs(
    made: Mapping[str, tuple[Path, ...]],
    makers: Mapping[str, MakeFrom],
    step: int,
    *,
    only: Sequence[str] | None,
) -> CheckpointRuns:
    points = {side: point_of(side, made[side][0], step) for side in SIDES}
    sides = {
        "a": tuple(makers["a"](points["a"], None, number) for number in (1, 2)),
        "b": tuple(makers["b"](points["a"], None, number) for number in (3, 4)),
    }
    begun = CheckpointRuns(sides=sides, own=makers["b"](points["b"], None, TWINS_AFTER))
    must_begin_there({side: made[side][0] for side in SIDES}, begun, step)
    a, b = (sides[side][0] for side in SIDES)
    names = tuple(_metrics(a, b, only))
    place = first_place(a, b, names)
    if place is None:
        return begun

    def twin(variation: Variation, number: int) -> Path:
        return makers["a"](points["a"], variation, number + TWINS_AFTER)

    try:
        return replace(begun, twins=needed_twins(twin, centre=a, other=b, place=place, names=names))
    except ReprokitError as error:
        return replace(begun, why=error.told())


def _judged(
    made: Mapping[str, Sequence[Path]], begun: CheckpointRuns, step: int, *, only: Sequence[str] | None
) -> dict[str, Any]:
    """What the runs from the checkpoint say: ``answer``, ``why``, and the evidence."""
    try:
        must_begin_there({side: made[side][0] for side in SIDES}, begun, step)
        point = point_of("a", made["a"][0], step)
        told = {"run": point.run, "checkpoint": point.path.name, "sha256": point.sha256}
        a, b = (begun.sides[side][0] for side in SIDES)
        metrics = _metrics(a, b, only)
        if not metrics:
            return {**told, "why": "no metric that counts is logged after it"}
        if begun.twins is None:
            is_equal = not any(one["mismatches"] for one in metrics.values())
            why = "" if is_equal else begun.why or "what differs is not a number"
            return {**told, "answer": str(Finding.EQUAL if is_equal else Finding.UNJUDGED), "why": why}
        found = rounding_evidence(a, b, begun.twins, metrics)
    except (ReprokitError, MetricsError) as error:
        return {"why": str(error)}
    del found["runs"]
    return {**told, **found, "num_twins": len(begun.twins.every_twin), "made": begun.twins.made}


def _metrics(a: Path, b: Path, only: Sequence[str] | None) -> dict[str, Any]:
    return {name: one for name, one in metrics_of(a, b).items() if only is None or name in only}


def _sentence(answer: Answer, told: Mapping[str, Any]) -> str:
    step = told["step"]
    if told["answer"] == Finding.UNJUDGED:
        return f"{answer.sentence}; the checkpoint of step {step} does not help: {told['why'].rstrip('.')}"
    begun = f"from side a's checkpoint of step {step} ({told['sha256'][:19]})"
    if told["answer"] == Finding.EQUAL:
        after = "are equal in every record after it"
    elif told["answer"] == Finding.ROUNDING:
        after = (
            f"differ as rounding does: by at most {told['ratio']:.2g} times as much as "
            f"{told['num_twins']} twins begun there, in {extent(told)}; a learning rate higher by "
            f"{told['resolution']:.1g} of itself would have been seen there"
        )
    else:
        first = told["first"]
        after = (
            f"differ by more than rounding: {first['metric']} from step {first['step']:g} on, up to "
            f"{times(told['ratio'])} times what {told['num_twins']} twins begun there show"
        )
    return f"begun {begun}, the sides {after}; what comes before it was judged by whole runs alone: rounding"
