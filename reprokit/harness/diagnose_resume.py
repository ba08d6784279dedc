"""What a program loses when it is stopped and resumed: a whole run against one in two parts.

This module knows the three runs; it refuses to know how the program stops and goes on: it is told the words.

    >>> diagnose_resume(command, request, words, project=project, progress=progress).cause.what
    '`velocity` begins anew: it does not come back from the checkpoint'
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reprokit import diagnosis
from reprokit.diagnosis import Cause, Lost
from reprokit.errors import CannotJudgeError
from reprokit.execution import local as local_backend
from reprokit.harness.diagnosed import DIFFERS, EQUAL, Diagnosis
from reprokit.harness.execute import Progress
from reprokit.harness.laboratory import Conditions, Laboratory, need
from reprokit.harness.plan import plan_command, shell_line
from reprokit.harness.project import Project
from reprokit.harness.request import Request, stamp
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
    """Hold an uninterrupted run against one that was stopped and resumed; name the state that was lost.

    Args:
        command: With the placeholders ``{seed}`` and ``{run_dir}``.
        request: Seed, time limit, metrics to ignore.
        words: What stops it and what makes it go on.
        project: Where the reports go.
        progress: Told what is run.

    Raises:
        CannotRunError: One of the runs does not come to its end.
        CannotJudgeError: Two uninterrupted runs differ already.
    """
    seed, moment = request.seed if request.seed is not None else 0, stamp()
    plan = plan_command(
        command, seed=seed, repeats=1, stamp=moment, working_dir=Path.cwd(), timeout_s=request.timeout_s
    )
    folder = project.reports_dir / plan.specs[0].recipe / f"{moment}-diagnose"
    with Laboratory(
        plan.specs[0], folder=folder, backend=local_backend.LocalBackend(), progress=progress, budget=4,
        ignore=request.ignore,
    ) as lab:  # fmt: skip
        found = _diagnose(lab, words)
    write_json(folder / "diagnosis.json", found.as_data())
    return found


def _diagnose(lab: Laboratory, words: Words) -> Diagnosis:
    lab.progress.phase("whole")
    whole = need(lab.run("whole", Conditions(level="loops")))
    again = need(lab.run("whole-again"))
    if not lab.equal(whole, again):
        raise CannotJudgeError(
            "two uninterrupted runs differ already", where=str(lab.folder),
            fix="find out why first: the same line without --resume",
        )  # fmt: skip
    lab.progress.phase("stop and resume")
    stopped = need(lab.run("stopped", Conditions(words=tuple(shlex.split(words.stop)))))
    left = str((stopped.folder / "output").resolve())
    added = tuple(word.replace(PLACEHOLDER, left) for word in shlex.split(words.resume))
    resumed = need(lab.run("resumed", Conditions(level="loops", words=added)))
    equal = lab.equal(whole, resumed)
    lost = () if equal else diagnosis.lost_states(whole.trace, resumed.trace)
    unknown = () if equal or lost else ("no variable of a loop is known that did not come back",)
    return Diagnosis(
        verdict=EQUAL if equal else DIFFERS,
        divergence=None if equal else lab.compare(whole, resumed).divergence,
        causes=tuple(map(_cause, lost)) or (() if equal else (_no_line(),)),
        known=unknown,
        replay=(shell_line([*lab.spec.command, *added]),),
        folder=lab.folder,
        runs=lab.made,
    )


def _cause(lost: Lost) -> Cause:
    return Cause(
        category="resume_state", file=lost.file, line=lost.line, function=lost.function, confidence="high",
        what=f"`{lost.name}` begins anew: it does not come back from the checkpoint (round {lost.round})",
        fix=f"save `{lost.name}` in the checkpoint, and restore it",
    )  # fmt: skip


def _no_line() -> Cause:
    return Cause(
        category="resume_state", file=None, line=None, function=None, confidence="high",
        what="something does not come back from the checkpoint",
        fix="compare what is saved with what is used",
    )  # fmt: skip
