"""One fault planted, judged as ``reprokit report show`` and ``verify`` do, and compared with the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from reprokit.errors import ReprokitError
from reprokit.features.selftest.beside import RESUMED, STOPPED, VARIED
from reprokit.features.selftest.faults.reports import report_file
from reprokit.features.selftest.mutations import not_plantable
from reprokit.features.selftest.planting import Stage
from reprokit.features.selftest.table import (
    BOTH,
    EXIT_CODES,
    FALLS,
    GOLDEN,
    KINDS,
    REFUSED,
    REPORT,
    RUN_1,
    RUN_2,
    STANDS,
    FaultKind,
)
from reprokit.harness.audit import audit
from reprokit.harness.judging.runs_beside_pair import RunsBesidePair, runs_at_hand
from reprokit.harness.reproduce import judge_again
from reprokit.request import Request

#: What a judge comes to that ends in no answer at all; no kind of fault may lead to it.
BROKE = "BROKE"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """One fault: of which kind, where, whether everything is sealed again, and which of many."""

    kind: FaultKind
    place: str
    sealed: bool
    number: int

    @property
    def id(self) -> str:
        """The name that replays it, together with the seed."""
        return f"{self.kind.id}/{self.place}/{'sealed' if self.sealed else 'unsealed'}/{self.number}"

    @property
    def expected(self) -> str:
        return (self.kind.sealed if self.sealed else self.kind.unsealed)[self.place]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedAnswer:
    """What the gate said: the outcome, its exit code, and the fields of the environment that it named."""

    outcome: str
    exit_code: int
    said: str = ""
    noted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A fault, what was planted, and what the gate said of it."""

    id: str
    planted: str
    expected: str
    answer: PlantedAnswer
    because: str

    @property
    def is_right(self) -> bool:
        return not self.because


def faults(num: int) -> Iterator[PlantedFault]:
    """So many faults: every kind in one of its places, then in the next, again and again.

    The kinds begin in different places, so that even a few faults are in all of them.
    """
    cases = [_from(_cases(kind), start) for start, kind in enumerate(KINDS)]
    longest = max(map(len, cases))
    rounds = [
        (kind, *found[index])
        for index in range(longest)
        for kind, found in zip(KINDS, cases, strict=True)
        if index < len(found)
    ]
    for index in range(num):
        number, at = divmod(index, len(rounds))
        kind, place, sealed = rounds[at]
        yield PlantedFault(kind=kind, place=place, sealed=sealed, number=number)


def fault_of(text: str) -> PlantedFault | None:
    """The fault of an ID, or None when no fault has it."""
    parts = text.split("/")
    if len(parts) != 4 or not parts[3].isdecimal():
        return None
    for kind in KINDS:
        case = (parts[1], parts[2] == "sealed")
        if kind.id == parts[0] and case in _cases(kind) and parts[2] in {"sealed", "unsealed"}:
            return PlantedFault(kind=kind, place=parts[1], sealed=case[1], number=int(parts[3]))
    return None


def judged(stage: Stage, fault: PlantedFault, *, seed: int) -> Judged:
    """Plant a fault, judge, and take it out again; a ``CannotJudgeError`` where it has no place."""
    try:
        places = _places(stage, fault.place)
        planted = fault.kind.plant(stage, Random(f"{seed}/{fault.id}"), places)
        if fault.sealed:
            for place in places:
                stage.seal(place)
        answer = audited(stage) if fault.place == REPORT else answered(stage, fault.place)
    finally:
        stage.restore()
    needs_note = fault.sealed and fault.place in fault.kind.noted
    return Judged(
        id=fault.id,
        planted=planted,
        expected=fault.expected,
        answer=answer,
        because=_wrong(fault.expected, answer, needs_note=needs_note),
    )


def clean(stage: Stage, number: int) -> Judged:
    """Judge fresh copies in which nothing was planted."""
    stage.copied_afresh()
    answer = answered(stage)
    return Judged(
        id=f"clean/{number}",
        planted="nothing",
        expected="REPRODUCED",
        answer=answer,
        because=_wrong("REPRODUCED", answer),
    )


def answered(stage: Stage, place: str = "") -> PlantedAnswer:
    """What ``reprokit report show RUN RUN`` says; with the runs next to the pair where one is at fault."""
    beside = None
    if place in {STOPPED, RESUMED}:
        beside = RunsBesidePair(stopped=stage.beside[STOPPED], resumed=stage.beside[RESUMED])
    elif place == VARIED:
        beside = replace(runs_at_hand(stage.runs[0]), varied=(stage.beside[VARIED],))
    return _ask(lambda: _of_report(judge_again(stage.runs, Request(), project=stage.project, beside=beside)))


def audited(stage: Stage) -> PlantedAnswer:
    """What ``reprokit report verify REPORT`` says."""

    def ask() -> PlantedAnswer:
        found = audit(report_file(stage), project=stage.project)
        said = "; ".join(found.findings)
        return PlantedAnswer(outcome=STANDS if found.follows else FALLS, exit_code=found.exit_code, said=said)

    return _ask(ask)


def _ask(question: Any) -> PlantedAnswer:
    try:
        answer: PlantedAnswer = question()
    except ReprokitError as error:
        return PlantedAnswer(
            outcome=REFUSED if error.exit_code == EXIT_CODES[REFUSED] else BROKE,
            exit_code=error.exit_code,
            said=str(error),
        )
    except Exception as error:  # the judge is what is on trial: whatever it raises is its answer
        return PlantedAnswer(outcome=BROKE, exit_code=3, said=f"{type(error).__name__}: {error}")
    return answer


def _of_report(report: Any) -> PlantedAnswer:
    noted = frozenset(str(entry["field"]) for entry in report.environment_diff)
    return PlantedAnswer(
        outcome=str(report.verdict), exit_code=report.exit_code, said=report.sentence, noted=noted
    )


def _wrong(expected: str, answer: PlantedAnswer, *, needs_note: bool = False) -> str:
    """Why an answer is not the right one; "" when it is."""
    if answer.outcome != expected:
        return f"{answer.outcome} instead of {expected}"
    if answer.exit_code != EXIT_CODES[expected]:
        return f"{expected}, but with exit code {answer.exit_code} instead of {EXIT_CODES[expected]}"
    if needs_note and not answer.noted:
        return f"{expected}, but the report names nothing that differs in the environment"
    return ""


def _cases(kind: FaultKind) -> list[tuple[str, bool]]:
    return [*((place, True) for place in kind.sealed), *((place, False) for place in kind.unsealed)]


def _from(cases: list[tuple[str, bool]], start: int) -> list[tuple[str, bool]]:
    at = start % len(cases)
    return [*cases[at:], *cases[:at]]


def _places(stage: Stage, place: str) -> tuple[Path, ...]:
    if place in {VARIED, STOPPED, RESUMED}:
        if place not in stage.beside:
            raise not_plantable(f"in a {place} run")
        return (stage.beside[place],)
    first, second = stage.runs
    return {
        RUN_1: (first,),
        RUN_2: (second,),
        BOTH: (first, second),
        GOLDEN: (stage.golden,),
        REPORT: (),
    }[place]
