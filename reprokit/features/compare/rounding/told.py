"""The answer of ``compare`` with what there is to say about rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit.core.verdicts.rows import counted
from reprokit.errors import MetricsError, ReprokitError
from reprokit.features.compare.answer import Answer, Word
from reprokit.features.compare.judge import Selected, judged
from reprokit.features.compare.rounding.checkpoint_runs import CheckpointRuns
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
from reprokit.features.compare.rounding.first_evidence import (
    differ,
    far_apart,
    first_finding,
    must_be_firsts,
    step_of,
    takes_steps,
)
from reprokit.features.compare.rounding.first_update import FirstFinding, unjudged_first
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.twin_runs import (
    FirstLook,
    MakeRun,
    TwinRuns,
    first_updates,
    make_twins,
)

NO_METRIC = "no metric differs, and rounding is judged by metrics"
_WORDS = {"rounding": Word.ROUNDING, "different": Word.DIFFERENT, "unjudged": Word.UNJUDGED}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingAsked:
    """That it was asked for.

    Attributes:
        allowed: Whether rounding ends with 0.
        until: The last step that counts; None where all do.
        from_step: The step of the checkpoint from which late records are judged; None for no checkpoint.
    """

    allowed: bool = False
    until: float | None = None
    from_step: int | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """What is typed to ask for the same of two plain commands."""
        allow = ("--allow", "rounding") if self.allowed else ()
        return ("--rounding", *allow, *(() if self.until is None else ("--until", f"{self.until:g}")))


@dataclass(slots=True)
class MadeTwins:
    """The twins that were made for an answer; none where nothing differs, or none can be made.

    Attributes:
        selected: Which metrics count.
        runs: The twins; None where there are none.
        why: Why there are none, one sentence.
        asked: What was asked for.
        begun: The runs that began from a checkpoint of side a; None where there are none.
        begun_why: Why there are none where there should be, one sentence.
    """

    selected: Selected
    asked: RoundingAsked
    runs: TwinRuns | None = None
    why: str = ""
    begun: CheckpointRuns | None = None
    begun_why: str = ""

    @classmethod
    def of_report(cls, rounding: Mapping[str, Any] | None, selected: Selected) -> MadeTwins | None:
        """Those that a report names; None where no one asked for rounding."""
        if rounding is None:
            return None
        runs = TwinRuns.from_data(rounding["runs"]) if rounding["runs"] else None
        told = rounding.get("from_checkpoint")
        asked = RoundingAsked(
            allowed=bool(rounding["allowed"]),
            until=rounding.get("until_step"),
            from_step=told["step"] if told else None,
        )
        begun = CheckpointRuns.from_data(told["runs"]) if told and told["runs"] else None
        made = cls(selected, asked, runs=runs, why=rounding["why"], begun=begun)
        if told and begun is None:
            made.begun_why = told["why"]
        return made

    @property
    def folders(self) -> Sequence[Path]:
        """Their run folders."""
        return self.runs.folders if self.runs else ()

    def make(self, made: Mapping[str, tuple[Path, ...]], make_runs: Mapping[str, MakeRun]) -> None:
        """Make them, where the sides are shown to differ in a metric; else their first updates alone."""
        answer = judged(made, selected=self.selected)
        look = FirstLook(
            make_other=make_runs["b"],
            takes_steps=takes_steps,
            step_of=step_of,
            far_apart=far_apart,
            differ=differ,
        )
        if answer.answer is Word.EQUAL:
            self.runs = first_updates(make_runs["a"], look)
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
                    make_runs["a"],
                    place=place,
                    updates_of=updates_of,
                    finding_with=lambda twins: _finding(a, b, twins, names, last_step=self.asked.until),
                    look=look,
                )
        except ReprokitError as error:
            self.why = str(error)


def _finding(
    a: Path, b: Path, twins: TwinRuns, names: Sequence[str], *, last_step: float | None
) -> tuple[Finding, float]:
    found = judged_with(a, b, twins, names, last_step=last_step)
    first = first_finding(twins)
    if first.finding is Finding.DIFFERENT:
        return Finding.DIFFERENT, max(found.ratio, first.ratio)
    return found.finding, found.ratio


def _no_difference(asked: RoundingAsked) -> str:
    return NO_METRIC if asked.until is None else f"no metric differs up to step {asked.until:g}"


def rounding_folders(rounding: Mapping[str, Any] | None) -> Sequence[Path]:
    """The runs that an answer on rounding follows from."""
    if not rounding:
        return ()
    twins = TwinRuns.from_data(rounding["runs"]).folders if rounding["runs"] else ()
    begun = (rounding.get("from_checkpoint") or {}).get("runs")
    return (*twins, *(CheckpointRuns.from_data(begun).folders if begun else ()))


def with_rounding(
    answer: Answer,
    made: Mapping[str, Sequence[Path]],
    twins: MadeTwins,
) -> Answer:
    """The answer with what twins say of the difference, and of first updates where no metric differs."""
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


def first_told(first: FirstFinding) -> str:
    """What the first updates say, in words; "" where they are equal or not judged."""
    if first.step is None or first.finding in {Finding.EQUAL, Finding.UNJUDGED}:
        return ""
    if first.why:
        return first.why
    off = f"update {first.step} of the parameters is {first.difference:.2g} of itself off"
    if first.of_twins is not None:
        off += f" (twins: at most {first.of_twins:.1g})"
    if first.slope is not None:
        off += f", as if the learning rate were {_multiple(1 + first.slope)} times as large"
    if first.parameters < first.of:
        off += f"; {first.parameters:,} of {first.of:,} parameters were compared"
    return off


def _multiple(value: float) -> str:
    """A multiple to two digits of what it is off 1."""
    digits = max(0, 1 - math.floor(math.log10(abs(value - 1))))
    return f"{value:.{digits}f}".rstrip("0")


def _sentence(answer: Answer, evidence: Mapping[str, Any]) -> str:
    also = f"; {evidence['first_told']}" if evidence.get("first_told") else ""
    return _of_metrics(answer, evidence) + also


def _of_metrics(answer: Answer, evidence: Mapping[str, Any]) -> str:
    twins, runs = twins_told(evidence), counted(evidence["runs"]["made"], "run")
    if evidence["answer"] == "rounding":
        return (
            f"the sides differ as rounding does: by at most {evidence['ratio']:.2g} times as much as {twins} "
            f"of side a ({runs}), in {extent(evidence)}; a learning rate higher by "
            f"{evidence['resolution']:.1g} of itself would have been seen{_left_out(evidence)}"
        )
    if evidence["answer"] == "different":
        first = evidence["first"]
        if first is None:
            return "the sides differ by more than rounding: metrics may not, but first updates do"
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
