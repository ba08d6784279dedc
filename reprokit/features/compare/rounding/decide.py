"""The answer of ``compare`` with what twins say of it: of metrics, and of first updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.errors import MetricsError, ReprokitError
from reprokit.features.compare.answer import Answer, Word
from reprokit.features.compare.rounding.evidence import (
    BOTH_CHANGED,
    changed_both,
    last_judged_step,
    rounding_evidence,
)
from reprokit.features.compare.rounding.first_evidence import first_finding, must_be_firsts
from reprokit.features.compare.rounding.first_update import FirstFinding, unjudged_first
from reprokit.features.compare.rounding.made_twins import NO_METRIC, MadeTwins, why_no_difference
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.sentences import first_told, hint_of, sentence_of
from reprokit.features.compare.rounding.twin_runs import TwinRuns
from reprokit.features.compare.sentences import ASK_ROUNDING

_WORDS = {"rounding": Word.ROUNDING, "different": Word.DIFFERENT, "unjudged": Word.UNJUDGED}


def with_rounding(
    answer: Answer,
    made: Mapping[str, Sequence[Path]],
    twins: MadeTwins,
) -> Answer:
    """The answer with what twins say of the difference, and of first updates where no metric differs."""
    if answer.hint == ASK_ROUNDING:
        answer = replace(answer, hint="")
    if answer.answer is Word.EQUAL and twins.runs is not None:
        return _of_equal(answer, made, twins, twins.runs)
    if answer.answer is not Word.DIFFERENT:
        return answer
    asked, why, evidence = twins.asked, twins.why, None
    if changed_both(answer.what_differs):
        why = BOTH_CHANGED
    elif twins.runs is not None:
        try:
            evidence = evidence_up_to(asked.until, answer, made, twins.runs)
        except (ReprokitError, MetricsError) as error:
            why = str(error)
    if evidence and evidence["answer"] == "equal":  # of a report whose step was changed
        why, evidence = why_no_difference(asked), None
    if evidence is None:
        word = Word.DIFFERENT if why in (NO_METRIC, BOTH_CHANGED) else Word.UNJUDGED
        none = {"answer": str(word), "why": why, "runs": twins.runs.as_data() if twins.runs else None}
        told = {**none, "allowed": asked.allowed, "until_step": asked.until}
        known = "" if word is Word.DIFFERENT else "whether that is rounding is not known: "
        return replace(answer, answer=word, sentence=f"{answer.sentence}; {known}{why}", rounding=told)
    evidence |= {"allowed": asked.allowed, "until_step": asked.until}
    if evidence["answer"] == "unjudged" and asked.until is None:
        evidence["why"] += _what_to_leave_out(made["a"][0], made["b"][0], evidence)
    word = _WORDS[evidence["answer"]]
    sentence, hint = sentence_of(answer, evidence), hint_of(answer, evidence)
    return replace(answer, answer=word, sentence=sentence, hint=hint, rounding=evidence)


def evidence_up_to(
    last_step: float | None, answer: Answer, made: Mapping[str, Sequence[Path]], runs: TwinRuns
) -> dict[str, Any]:
    """What twins say of metrics up to a step, and of first updates.

    Raises:
        ReprokitError: A run is not what it is taken for.
        MetricsError: Metrics cannot be read.
    """
    a, b = made["a"][0], made["b"][0]
    found = rounding_evidence(a, b, runs, answer.metrics, last_step=last_step)
    return _with_first(found, _first(made, runs))


def _of_equal(answer: Answer, made: Mapping[str, Sequence[Path]], twins: MadeTwins, runs: TwinRuns) -> Answer:
    """Sides whose metrics are equal are equal only if their first updates are, where those are seen."""
    asked, told = twins.asked, {"why": "", "runs": runs.as_data()}
    try:
        first = _first(made, runs)
    except (ReprokitError, MetricsError) as error:
        first = unjudged_first(str(error))
    data = {**told, "first_update": first.as_data(), "allowed": asked.allowed, "until_step": asked.until}
    also = first_told(first)
    if first.finding is Finding.DIFFERENT:
        sentence = f"no metric differs, and yet the sides differ by more than rounding: {also}"
        return replace(
            answer, answer=Word.DIFFERENT, sentence=sentence, rounding={**data, "answer": "different"}
        )
    if first.finding is Finding.UNJUDGED and first.is_seen:
        sentence = f"no metric differs; whether the sides are equal is not known: {first.why}"
        data |= {"answer": "unjudged", "why": first.why}
        return replace(answer, answer=Word.UNJUDGED, sentence=sentence, rounding=data)
    if also and first.finding is Finding.ROUNDING:
        also = f"what is not logged differs as rounding does: {also}"
    sentence = f"{answer.sentence}; {also}" if also else answer.sentence
    return replace(answer, sentence=sentence, rounding={**data, "answer": "equal"})


def _first(made: Mapping[str, Sequence[Path]], runs: TwinRuns) -> FirstFinding:
    must_be_firsts(runs, of=made["a"][0], other=made["b"][0])
    return first_finding(runs)


def _with_first(evidence: dict[str, Any], first: FirstFinding) -> dict[str, Any]:
    """The answer on metrics, where first updates do not say more."""
    evidence["first_update"] = first.as_data()
    if first.finding is Finding.DIFFERENT:
        evidence["answer"] = "different"
    elif first.finding is Finding.UNJUDGED and first.is_seen and evidence["answer"] == "rounding":
        evidence |= {"answer": "unjudged", "why": first.why}
    evidence["first_told"] = first_told(first)
    return evidence


def _what_to_leave_out(a: Path, b: Path, evidence: Mapping[str, Any]) -> str:
    last = last_judged_step(a, b, evidence["metrics"])
    return "" if last is None else f" (`--until {last:g}` judges what comes before)"
