"""The twins that an answer of ``compare`` needs: what was asked for, and the runs that were made for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.errors import ReprokitError
from reprokit.features.compare.answer import Word
from reprokit.features.compare.judge import Selected, judged
from reprokit.features.compare.rounding.checkpoint_runs import CheckpointRuns
from reprokit.features.compare.rounding.evidence import (
    BOTH_CHANGED,
    changed_both,
    first_place,
    judged_with,
    updates_of,
)
from reprokit.features.compare.rounding.first_evidence import (
    differ,
    far_apart,
    first_finding,
    step_of,
    takes_steps,
)
from reprokit.features.compare.rounding.rule import Finding
from reprokit.features.compare.rounding.twin_runs import (
    FirstLook,
    MakeRun,
    TwinRuns,
    first_updates,
    make_twins,
)

NO_METRIC = "no metric differs, and rounding is judged by metrics"


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
                self.why = why_no_difference(self.asked)
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


def why_no_difference(asked: RoundingAsked) -> str:
    """Why there is nothing that rounding could be asked of."""
    return NO_METRIC if asked.until is None else f"no metric differs up to step {asked.until:g}"


def rounding_folders(rounding: Mapping[str, Any] | None) -> Sequence[Path]:
    """The runs that an answer on rounding follows from."""
    if not rounding:
        return ()
    twins = TwinRuns.from_data(rounding["runs"]).folders if rounding["runs"] else ()
    begun = (rounding.get("from_checkpoint") or {}).get("runs")
    return (*twins, *(CheckpointRuns.from_data(begun).folders if begun else ()))
