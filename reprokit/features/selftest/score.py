"""A selftest from copies to a score: what was planted, what was found, what was missed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from reprokit import golden, reports
from reprokit.errors import CannotJudgeError, GoldenError, UsageError
from reprokit.features.selftest import judging
from reprokit.features.selftest.beside import made_of
from reprokit.features.selftest.faults.tolerances import declare_exact
from reprokit.features.selftest.judging import Judged
from reprokit.features.selftest.planting import Samples, Stage
from reprokit.features.selftest.table import KINDS
from reprokit.harness.curation.promote import promote
from reprokit.harness.reproduce import judge_again
from reprokit.harness.running.clock import now
from reprokit.layout import REPORT
from reprokit.request import Request
from reprokit.session import Progress

CLEAN = "clean"
_TOLD_EVERY = 50


@dataclass(slots=True, kw_only=True)
class ScoreRow:
    """How many of one kind were planted, and how many led to their verdict."""

    id: str
    title: str
    planted: int = 0
    right: int = 0


@dataclass(slots=True, kw_only=True)
class Score:
    """What came of a selftest.

    Attributes:
        seed: What the faults followed from.
        rows: Kind of fault → counts, in the order of the table; the clean copies last.
        last: The last one judged, whether right or not.
        not_planted: Kinds that these runs have no place for.
        is_one: One fault or clean copy was asked for by its ID: no answer about the gate as a whole.
    """

    seed: int
    is_one: bool = False
    rows: dict[str, ScoreRow] = field(default_factory=dict)
    misses: list[Judged] = field(default_factory=list)
    last: Judged | None = None
    not_planted: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def planted(self) -> int:
        return sum(row.planted for row in self.rows.values() if row.id != CLEAN)

    @property
    def found(self) -> int:
        return sum(row.right for row in self.rows.values() if row.id != CLEAN)

    @property
    def clean(self) -> ScoreRow:
        return self.rows.get(CLEAN) or ScoreRow(id=CLEAN, title="")

    @property
    def kinds_left(self) -> int:
        """How many kinds of fault were not planted although these runs may have a place for them."""
        return len(KINDS) - len(self.rows.keys() - {CLEAN} | set(self.not_planted))

    @property
    def exit_code(self) -> int:
        """0 only where a fault was planted, or the one clean copy asked for, and nothing was missed."""
        if self.misses:
            return 1
        proven = self.planted or (self.is_one and self.clean.planted)
        return 0 if proven else CannotJudgeError.exit_code


def run(
    samples: Samples,
    *,
    num_faults: int,
    num_clean: int,
    seed: int,
    progress: Progress,
    only: str | None = None,
) -> Score:
    """Plant faults in copies of real runs, judge each, and count; ``only``: the ID of one fault to plant.

    Raises:
        CannotJudgeError: The untouched runs are not REPRODUCED, so that nothing can be learned from them.
        UsageError: No fault has that ID.
    """
    score = Score(seed=seed, is_one=only is not None)
    with Stage.of(samples) as stage:
        progress.phase("selftest")
        score.notes += prepare(stage)
        tasks = _only(stage, only, seed) if only else _all(stage, num_faults, num_clean, seed, score)
        total = 1 if only else num_faults + num_clean
        for number, judged in enumerate(tasks, start=1):
            _count(score, judged)
            if number % _TOLD_EVERY == 0:
                progress.update("selftest", number, total, steps_per_s=None, eta_s=None)
    return score


def _all(stage: Stage, num_faults: int, num_clean: int, seed: int, score: Score) -> Iterator[Judged]:
    """Faults, and clean copies among them: what a fault leaves behind is found by the next clean copy."""
    every = max(1, num_faults // num_clean) if num_clean else 0
    cleaned = 0
    for number, fault in enumerate(judging.faults(num_faults)):
        if every and number % every == 0 and cleaned < num_clean:
            yield judging.clean(stage, cleaned)
            cleaned += 1
        try:
            yield judging.judged(stage, fault, seed=seed)
        except CannotJudgeError:
            if fault.kind.id not in score.not_planted:
                score.not_planted.append(fault.kind.id)
    yield from (judging.clean(stage, number) for number in range(cleaned, num_clean))


def _only(stage: Stage, text: str, seed: int) -> Iterable[Judged]:
    if text.partition("/")[0] == CLEAN:
        return [judging.clean(stage, 0)]
    fault = judging.fault_of(text)
    if fault is None:
        raise UsageError(
            f"no fault has the ID {text!r}",
            expected="KIND/PLACE/sealed|unsealed/NUMBER",
            fix="take an ID that a selftest printed, such as flipped-bit/run-1/sealed/0",
        )
    return [judging.judged(stage, fault, seed=seed)]


def _count(score: Score, judged: Judged) -> None:
    name = judged.id.partition("/")[0]
    if name not in score.rows:
        title = next((kind.title for kind in KINDS if kind.id == name), "copies with nothing planted")
        score.rows[name] = ScoreRow(id=name, title=title)
    row = score.rows[name]
    score.last = judged
    row.planted += 1
    row.right += judged.is_right
    if not judged.is_right:
        score.misses.append(judged)


def prepare(stage: Stage) -> list[str]:
    """Make the copies REPRODUCED at tolerance 0/0, with a golden of their own where theirs does not agree."""
    notes = []
    answer = judging.answered(stage)
    if answer.outcome != "REPRODUCED":
        notes.append(f"as they are, the runs are {answer.outcome}; their copies got a golden of their own")
        stage.blessed = _blessed(stage)
    declare_exact(stage)
    stage.beside = made_of(stage)
    stage.keep()
    answer = judging.answered(stage)
    if answer.outcome != "REPRODUCED":
        raise CannotJudgeError(
            "these runs prove nothing about the gate",
            where=str(stage.originals[0]),
            expected="REPRODUCED before anything is planted",
            actual=f"{answer.outcome}: {answer.said}",
            fix="name two runs that agree and pass every row, with --runs",
        )
    report = judge_again(stage.runs, Request(), project=stage.project)
    folder = stage.project.reports_dir / "selftest"
    reports.render_all(report, folder)
    stage.report = folder / REPORT
    return notes


def _blessed(stage: Stage) -> Path:
    try:
        blessed = promote(
            stage.runs,
            project=stage.project,
            promotion=golden.Promotion(
                reason="a selftest", created_at=now(), allow_dirty=True, allow_nonfinite=True
            ),
        )
    except GoldenError as error:
        raise CannotJudgeError(
            f"these runs prove nothing about the gate: {error.what}",
            where=str(stage.originals[0]),
            fix="name two runs that agree, with --runs",
        ) from error
    return blessed.path
