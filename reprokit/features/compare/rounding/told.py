"""The answer of ``compare`` with what there is to say about rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit.core.verdicts.rows import counted
from reprokit.errors import MetricsError, ReprokitError
from reprokit.features.compare.answer import Answer, Word
from reprokit.features.compare.judge import Selected, judged
from reprokit.features.compare.rounding.evidence import (
    BOTH_CHANGED,
    INFINITE,
    changed_both,
    first_place,
    judged_with,
    last_judged_step,
    rounding_evidence,
    updates_of,
)
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.twin_runs import MakeRun, TwinRuns, make_twins

NO_METRIC = "no metric differs, and rounding is judged by metrics"
_WORDS = {"rounding": Word.ROUNDING, "different": Word.DIFFERENT, "unjudged": Word.UNJUDGED}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingAsked:
    """That it was asked for.

    Attributes:
        allowed: Whether rounding ends with 0.
        until: The last step that counts; None where all do.
    """

    allowed: bool = False
    until: float | None = None


@dataclass(slots=True)
class MadeTwins:
    """The twins that were made for an answer; none where nothing differs, or none can be made.

    Attributes:
        selected: Which metrics count.
        runs: The twins; None where there are none.
        why: Why there are none, one sentence.
        asked: What was asked for.
    """

    selected: Selected
    asked: RoundingAsked
    runs: TwinRuns | None = None
    why: str = ""

    @classmethod
    def of_report(cls, rounding: Mapping[str, Any] | None, selected: Selected) -> MadeTwins | None:
        """Those that a report names; None where no one asked for rounding."""
        if rounding is None:
            return None
        runs = TwinRuns.from_data(rounding["runs"]) if rounding["runs"] else None
        asked = RoundingAsked(allowed=bool(rounding["allowed"]), until=rounding.get("until_step"))
        return cls(selected, asked, runs=runs, why=rounding["why"])

    @property
    def folders(self) -> Sequence[Path]:
        """Their run folders."""
        return self.runs.folders if self.runs else ()

    def make(self, made: Mapping[str, tuple[Path, ...]], make_run: MakeRun) -> None:
        """Make them, where the sides are shown to differ in a metric."""
        answer = judged(made, selected=self.selected)
        if answer.answer is not Word.DIFFERENT:
            return
        a, b = made["a"][0], made["b"][0]
        names = tuple(answer.metrics)
        try:
            place = first_place(a, b, names, last_step=self.asked.until)
            if place is None:
                self.why = _no_difference(self.asked)
            elif changed_both(answer.what_differs):
                self.why = BOTH_CHANGED
            else:
                self.runs = make_twins(
                    make_run,
                    place=place,
                    updates_of=updates_of,
                    finding_with=lambda twins: _finding(a, b, twins, names, last_step=self.asked.until),
                )
        except ReprokitError as error:
            self.why = str(error)


def _finding(
    a: Path, b: Path, twins: TwinRuns, names: Sequence[str], *, last_step: float | None
) -> tuple[Finding, float]:
    found = judged_with(a, b, twins, names, last_step=last_step)
    return found.finding, found.ratio


def _no_difference(asked: RoundingAsked) -> str:
    return NO_METRIC if asked.until is None else f"no metric differs up to step {asked.until:g}"


def rounding_folders(rounding: Mapping[str, Any] | None) -> Sequence[Path]:
    """The runs that an answer on rounding follows from."""
    return TwinRuns.from_data(rounding["runs"]).folders if rounding and rounding["runs"] else ()


def with_rounding(
    answer: Answer,
    made: Mapping[str, Sequence[Path]],
    twins: MadeTwins,
) -> Answer:
    """The answer, where two sides differ, with what twins say of the difference."""
    if answer.answer is not Word.DIFFERENT:
        return answer
    asked, why, evidence = twins.asked, twins.why, None
    if changed_both(answer.what_differs):
        why = BOTH_CHANGED
    elif twins.runs is not None:
        try:
            evidence = rounding_evidence(
                made["a"][0],
                made["b"][0],
                twins.runs,
                answer.metrics,
                last_step=asked.until,
            )
        except (ReprokitError, MetricsError) as error:
            why = str(error)
    if evidence and evidence["answer"] == "equal":  # of a report whose step was changed
        why, evidence = _no_difference(asked), None
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
    return replace(answer, answer=word, sentence=_sentence(answer, evidence), rounding=evidence)


def _sentence(answer: Answer, evidence: Mapping[str, Any]) -> str:
    twins, runs = twins_told(evidence), counted(evidence["runs"]["made"], "run")
    if evidence["answer"] == "rounding":
        return (
            f"the sides differ as rounding does: by at most {evidence['ratio']:.2g} times as much as {twins} "
            f"of side a ({runs}), in {extent(evidence)}; a learning rate higher by "
            f"{evidence['resolution']:.1g} of itself would have been seen{_left_out(evidence)}"
        )
    if evidence["answer"] == "different":
        first = evidence["first"]
        return (
            f"the sides differ by more than rounding: {first['metric']} from step {first['step']:g} on, "
            f"up to {times(evidence['ratio'])} times what {twins} of side a show ({runs}); {answer.sentence}"
        )
    return f"{answer.sentence}; whether that is rounding is not known: {evidence['why']}"


def _what_to_leave_out(a: Path, b: Path, evidence: Mapping[str, Any]) -> str:
    last = last_judged_step(a, b, evidence["metrics"])
    return "" if last is None else f" (`--until {last:g}` judges what comes before)"


def _left_out(evidence: Mapping[str, Any]) -> str:
    last = evidence["until_step"]
    return "" if last is None else f"; what comes after step {last:g} was left out"


def extent(evidence: Mapping[str, Any]) -> str:
    """How many records of how many metrics are rounding."""
    judged_metrics = [one for one in evidence["metrics"].values() if one["finding"] == "rounding"]
    records = max((one["until"] for one in judged_metrics), default=0)
    return f"{counted(records, 'record')} of {counted(len(judged_metrics), 'metric')}"


def twins_told(evidence: Mapping[str, Any]) -> str:
    """How many twins there are."""
    made = evidence["runs"]
    return counted(len(made["twins"]) + len(made["short"]), "twin")


def times(ratio: float) -> str:
    """A factor to read."""
    if ratio >= INFINITE:
        return "infinitely many"
    return f"{ratio:,.0f}" if ratio < 1e7 else f"{ratio:.0e}"
