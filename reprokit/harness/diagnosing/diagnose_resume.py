"""What a program loses when it is stopped and resumed: a whole run against one in two parts.

This module knows the three runs; it refuses to know how the program stops and goes on: it is told the words.

    >>> diagnose_resume(command, request, words, project=project, progress=progress).cause.confidence
    'low'
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit import diagnosis
from reprokit.diagnosis import Cause, Lost
from reprokit.errors import CannotJudgeError, UsageError
from reprokit.execution import local as local_backend
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL, Diagnosis
from reprokit.harness.diagnosing.instrumented_runs import Conditions, InstrumentedRun, Laboratory, need
from reprokit.harness.diagnosing.resume_alignment import Rejoined, check_stopped, rejoined
from reprokit.harness.running.execute import Progress
from reprokit.harness.running.plan import plan_command, shell_line
from reprokit.harness.running.request import Request, stamp
from reprokit.layout import OUTPUT
from reprokit.project import Project
from reprokit.workspace import write_json

PLACEHOLDER = "{stopped_run_dir}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is added to the command.

    Attributes:
        stop: To stop on the way, as a shell would read it.
        resume: To go on, with ``{stopped_run_dir}``.
    """

    stop: str
    resume: str


def diagnose_resume(
    command: Sequence[str], request: Request, words: Words, *, project: Project, progress: Progress
) -> Diagnosis:
    """Hold an uninterrupted run against one that was stopped and resumed; name what is suspected to be lost.

    Args:
        command: With the placeholders ``{seed}`` and ``{run_dir}``.
        request: Seed, time limit, metrics to ignore.
        words: What stops it and what makes it go on.
        project: Where the reports go.
        progress: Told what is run.

    Raises:
        CannotRunError: One of the runs does not come to its end.
        UsageError: Nothing was stopped, or nothing was resumed.
        CannotJudgeError: Two uninterrupted runs differ already, or the records cannot be aligned.
    """
    seed, moment = request.seed if request.seed is not None else 0, stamp()
    plan = plan_command(
        command, seed=seed, repeats=1, stamp=moment, working_dir=Path.cwd(), timeout_s=request.timeout_s
    )
    folder = project.reports_dir / plan.specs[0].recipe / f"{moment}-diagnose"
    with Laboratory(
        plan.specs[0],
        folder=folder,
        backend=local_backend.LocalBackend(),
        progress=progress,
        budget=4,
        ignore=request.ignore,
    ) as lab:
        found = _diagnose(lab, words, request.ignore)
    write_json(folder / "diagnosis.json", found.as_data())
    return found


def _diagnose(lab: Laboratory, words: Words, ignore: Sequence[str]) -> Diagnosis:
    loops = Conditions(level="loops")
    lab.progress.phase("whole")
    whole = need(lab.run("whole", loops))
    again = need(lab.run("whole-again", loops))
    if not lab.equal(whole, again):
        raise CannotJudgeError(
            "two uninterrupted runs differ already",
            where=str(lab.folder),
            fix="find out why first: the same line without --resume",
        )
    lab.progress.phase("stop and resume")
    stopped = need(lab.run("stopped", Conditions(level="loops", words=tuple(shlex.split(words.stop)))))
    check_stopped(whole.folder / OUTPUT, stopped.folder / OUTPUT)
    left = str((stopped.folder / OUTPUT).resolve())
    added = tuple(word.replace(PLACEHOLDER, left) for word in shlex.split(words.resume))
    resumed = need(lab.run("resumed", Conditions(level="loops", words=added)))
    found = rejoined(*(one.folder / OUTPUT for one in (whole, stopped, resumed)), ignore=ignore)
    if found.from_the_first or found.before_the_stop:
        begun = diagnosis.where_begun(whole.trace, stopped.trace, resumed.trace, again=again.trace)
        _check_resumed(found, begun, resumed)
    equal = found.divergence is None
    lost = () if equal else diagnosis.lost_states(whole.trace, resumed.trace, again=again.trace)
    said = ["--seed", str(lab.spec.seed), "--stop-args", words.stop, "--resume-args", words.resume]
    unknown = () if equal or lost else ("no variable of a loop is known that did not come back",)
    return Diagnosis(
        verdict=EQUAL if equal else DIFFERS,
        divergence=found.divergence,
        causes=tuple(map(_cause, lost)),
        known=unknown,
        replay=(shell_line(["reprokit", "diagnose", "--resume", *said, "--", *lab.spec.command]),),
        folder=lab.folder,
        runs=lab.made,
        equality="the stopped and resumed run's records are the whole run's; surroundings were not varied",
    )


def _check_resumed(found: Rejoined, begun: str, resumed: InstrumentedRun) -> None:
    """Where the resumed run's log begins where the whole one's does: whether it is known to have gone on."""
    if begun == diagnosis.ANEW:
        raise UsageError(
            "nothing was resumed: the resumed run trains anew, from the first round to the last",
            where=str(resumed.folder),
            fix="give --resume-args that make the program go on",
        )
    if found.before_the_stop:
        raise CannotJudgeError(
            "the resumed run's log begins where the whole one's does, and does not carry the stopped one's",
            where=str(resumed.folder),
            fix="let it write the records that it makes at the whole run's steps",
        )
    if found.divergence is None and begun != diagnosis.LATER:
        raise CannotJudgeError(
            "the records are equal, but whether the resumed run went on or trained anew cannot be told",
            where=str(resumed.folder),
            expected="a loop of the program's own that goes on at a later round",
            fix="stop earlier (400 rounds are remembered), or write only the resumed run's own records",
        )


def _cause(lost: Lost) -> Cause:
    return Cause(
        category="resume_state",
        file=lost.file,
        line=lost.line,
        function=lost.function,
        confidence="low",
        what=f"suspected, not proven, that `{lost.name}` begins anew on resuming (round {lost.round})",
        fix=f"see whether `{lost.name}` belongs in the checkpoint",
    )
