"""What an answer says of rounding, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from reprokit.core.verdicts.rows import counted
from reprokit.features.compare.answer import Answer
from reprokit.features.compare.rounding.evidence import INFINITE
from reprokit.features.compare.rounding.first_update import FirstFinding
from reprokit.features.compare.rounding.rule import Finding

ALLOW = "`--allow rounding` makes this exit code 0"


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


def sentence_of(answer: Answer, evidence: Mapping[str, Any]) -> str:
    """What twins and first updates say of two sides that differ."""
    also = f"; {evidence['first_told']}" if evidence.get("first_told") else ""
    return _of_metrics(answer, evidence) + also


def hint_of(answer: Answer, evidence: Mapping[str, Any]) -> str:
    """What to type next: how rounding is allowed, where it is all that there is."""
    if evidence["answer"] != Finding.ROUNDING:
        return answer.hint
    return answer.hint if evidence["allowed"] else ALLOW


def _of_metrics(answer: Answer, evidence: Mapping[str, Any]) -> str:
    twins = twins_told(evidence)
    runs = f"{more_runs(evidence)}, of both sides together"
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


def more_runs(evidence: Mapping[str, Any]) -> str:
    """How many runs were made for it, beyond those of the two sides.

    >>> more_runs({"runs": {"made": 14}})
    '14 more runs'
    """
    return counted(evidence["runs"]["made"], "more run")
