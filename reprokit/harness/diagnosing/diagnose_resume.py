"""What a program loses when it is stopped and resumed: a whole run against one in two parts.

Arguments added to the command stop and resume the program. Where it does not stop, a checkpoint written on
the way is enough: from a run that writes one and continues to its end, or from the whole run itself.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from reprokit import diagnosis
from reprokit.core.comparing import clock_metrics
from reprokit.diagnosis import Cause, OutsideFile
from reprokit.errors import CannotJudgeError, UsageError
from reprokit.execution import local as local_backend
from reprokit.harness.diagnosing import proposing
from reprokit.harness.diagnosing.answers import left_out_of
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.diagnose import diagnose_command
from reprokit.harness.diagnosing.diagnosis import DIFFERS, EQUAL, Diagnosis
from reprokit.harness.diagnosing.instrumented_runs import InstrumentedProgram, need
from reprokit.harness.diagnosing.restoring.lost_leaves import Pair, find_lost_leaves
from reprokit.harness.diagnosing.restoring.same_update import LOADER_BEGINS, shares_made
from reprokit.harness.diagnosing.resumed_logs import taken_over
from reprokit.harness.diagnosing.resumed_samples import wrong_loader
from reprokit.harness.diagnosing.source_lines import with_source_lines
from reprokit.harness.diagnosing.unwatched import first_of
from reprokit.harness.judging.resumed.resume_alignment import Rejoined, is_cut_short, rejoined, wrote_alike
from reprokit.harness.running.again import words_of
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.plan import plan_command, shell_line
from reprokit.harness.running.resuming.resume_words import PLACEHOLDER, chosen_in, pattern_of
from reprokit.layout import OUTPUT
from reprokit.request import Request
from reprokit.session import Session
from reprokit.workspace import write_json

_KEEP = "save and restore with it what changes in training: generators, the optimizer, counters, buffers"
_MOST_RUNS = 40
#: Loops and updates are counted in every run.
_COUNTED = Conditions(level="loops", state={"record": {}})
_NOT_RESUMED = "two uninterrupted runs already differ, which is what was diagnosed: resuming was not judged"


class _AlreadyDifferError(CannotJudgeError):
    """Two uninterrupted runs differ: nothing can be said of resuming."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is added to the command.

    Attributes:
        stop: To stop on the way, or to write a checkpoint there, as a shell would read it; "" where the
            whole run writes checkpoints anyway.
        resume: To continue, with ``{stopped_run_dir}``; of several files that fit a pattern, the middle one.
    """

    stop: str
    resume: str


def diagnose_resume(
    command: Sequence[str],
    request: Request,
    words: Words,
    *,
    session: Session,
    uninterrupted: Mapping[str, Any] | None = None,
) -> Diagnosis:
    """Compare an uninterrupted run with one that was stopped and resumed; name what may be lost.

    Where two uninterrupted runs differ already, that is diagnosed instead, as ``uninterrupted`` says: the
    keywords of ``diagnose_command``.

    Raises:
        CannotRunError: One of the runs does not come to its end.
        UsageError: Nothing was stopped and nothing can be resumed, or nothing was resumed.
        CannotJudgeError: The records cannot be aligned, or two uninterrupted runs differ but no two do again.
    """
    seed, moment = request.seed if request.seed is not None else 0, stamp()
    plan = plan_command(
        command, seed=seed, repeats=1, stamp=moment, working_dir=Path.cwd(), timeout_s=request.timeout_s
    )
    folder = session.project.reports_dir / plan.specs[0].recipe / f"{moment}-diagnose"
    proposing.must_be_sound()
    with InstrumentedProgram(
        plan,
        folder=folder,
        backend=local_backend.LocalBackend(),
        progress=session.progress,
        budget=_MOST_RUNS,
        ignore=request.ignore,
    ) as lab:
        try:
            found = with_source_lines(_diagnose(lab, words, request, session=session))
        except _AlreadyDifferError as differ:
            found = _uninterrupted(command, request, lab, differ, session=session, how=uninterrupted or {})
    found = proposing.with_proposals(found, note=session.progress.note)
    write_json(found.folder / "diagnosis.json", found.as_data())
    return found


def _uninterrupted(
    command: Sequence[str],
    request: Request,
    lab: InstrumentedProgram,
    differ: _AlreadyDifferError,
    *,
    session: Session,
    how: Mapping[str, Any],
) -> Diagnosis:
    """Why two uninterrupted runs differ; equal ones are no answer here, since two have differed."""
    session.progress.phase("two uninterrupted runs differ, which is diagnosed; resuming is not judged")
    found = diagnose_command(command, request, session=session, **how)
    if found.verdict != DIFFERS:
        raise differ
    return replace(found, known=(_NOT_RESUMED, *found.known), runs=found.runs + lab.made)


def _diagnose(lab: InstrumentedProgram, words: Words, request: Request, *, session: Session) -> Diagnosis:
    lab.progress.phase("is a resumed run equal to a whole one?")
    lab.expect(4 if words.stop else 3)
    whole, again = _twice(lab)
    stopped, left = _stopped(lab, whole, words)
    resumed = _resumed(lab, words, left, was_stopped=stopped is not None)
    output = None if stopped is None else stopped.folder / OUTPUT
    left_out = [*request.ignore, *clock_metrics.patterns_for(lab.left_out)]
    shares = shares_made(whole.traced, resumed.traced)
    logs = whole.folder / OUTPUT, output, resumed.folder / OUTPUT
    found = rejoined(*logs, ignore=left_out, shares=shares, may_repeat=True)
    if found.from_the_first or found.before_the_stop:
        cut = None if stopped is None else stopped.trace
        begun = diagnosis.where_begun(whole.trace, cut, resumed.trace, again=again.trace)
        if begun == diagnosis.UNKNOWN and shares:
            begun = diagnosis.LATER
        _check_resumed(found, begun, resumed)
    loader = wrong_loader(whole.trace, resumed.trace, again=again.trace)
    divergence = found.divergence or (loader.divergence if loader else None)
    equal = divergence is None
    taken = taken_over(found.twice, resumed.trace.files.values(), left=left)
    causes, known = [one for one in (loader.cause if loader else None, taken) if one][:1], []
    state: tuple[str, ...] = ()
    if found.divergence is not None and (loader is not None or not causes):
        given = _to_resume(words, left)
        lost = find_lost_leaves(
            lab,
            Pair(
                whole=whole,
                resumed=resumed,
                given=given,
                agrees=lambda ran: _agrees(whole, output, ran, ignore=left_out, shares=shares),
                goes_alike=lambda ran: _goes_alike(resumed, ran),
                read_at=_read_at(resumed, left),
            ),
            at_kinds={LOADER_BEGINS} if causes else (),  # later its order is drawn, and in no leaf
        )
        if lost is not None and (not causes or lost.cause.confidence == "high"):
            causes, known, state = [lost.cause, *causes], [*lost.known], lost.state
        elif not causes:
            causes += _where_read(lab, resumed, left, given=given, known=known)
    stop = ["--stop-args", words.stop] if words.stop else []
    options = ["--seed", str(lab.spec.seed), *stop, "--resume-args", words.resume]
    options += words_of(request, project=session.project)
    return Diagnosis(
        verdict=EQUAL if equal else DIFFERS,
        divergence=divergence,
        causes=tuple(causes),
        known=(*known, *left_out_of(lab)),
        replay=(shell_line(["reprokit", "diagnose", "--resume", *options, "--", *lab.spec.command]),),
        folder=lab.folder,
        runs=lab.made,
        state=state,
        equality="the stopped and resumed run has the whole run's records; conditions were not varied",
    )


def _twice(lab: InstrumentedProgram) -> tuple[InstrumentedRun, InstrumentedRun]:
    """Two uninterrupted runs, which have to be equal."""
    loops = _COUNTED
    whole = first_of(lab, "whole", loops)
    again = need(lab.run("whole-again", loops))
    if not lab.equal(whole, again):
        raise _AlreadyDifferError(
            "two uninterrupted runs already differ",
            where=str(lab.folder),
            fix="find out why first: run the same command without --resume",
        )
    return whole, again


def _stopped(
    lab: InstrumentedProgram, whole: InstrumentedRun, words: Words
) -> tuple[InstrumentedRun | None, Path]:
    """The run that was stopped early, None where none was, and what there is to resume from."""
    if not words.stop:
        left = lab.folder / "left-by-the-whole"
        shutil.copytree(whole.folder / OUTPUT, left)  # resuming may write there
        return None, left.resolve()
    stopped = need(lab.run("stopped", replace(_COUNTED, words=tuple(shlex.split(words.stop)))))
    left = (stopped.folder / OUTPUT).resolve()
    return (stopped if is_cut_short(whole.folder / OUTPUT, left) else None), left


def _resumed(lab: InstrumentedProgram, words: Words, left: Path, *, was_stopped: bool) -> InstrumentedRun:
    resumed = lab.run("resumed", _to_resume(words, left))
    if resumed.trouble and not was_stopped:
        raise UsageError(
            "nothing was stopped: the stopped run has the whole run's last record and cannot be resumed",
            where=str(resumed.folder),
            actual=resumed.trouble,
            fix="give --stop-args that end the run early, or name a checkpoint from its middle",
        )
    return need(resumed)


def _to_resume(words: Words, left: Path) -> Conditions:
    added = tuple(_filled_in(word, left) for word in shlex.split(words.resume))
    return replace(_COUNTED, words=added, state={"first": True})


def _filled_in(word: str, left: Path) -> str:
    """A word with the folder's path; of a pattern the middle one of the files that fit it."""
    found = chosen_in(word, left)
    if found is None:
        raise UsageError(
            f"no checkpoint matches {pattern_of(word)!r}",
            where=str(left),
            fix="list that folder, and give --resume-args a pattern that matches a file in it",
        )
    return found.replace(PLACEHOLDER, str(left))


def _check_resumed(found: Rejoined, begun: str, resumed: InstrumentedRun) -> None:
    """Refuse an answer where it is not known that the resumed run continued."""
    if begun == diagnosis.ANEW:
        raise UsageError(
            "nothing was resumed: the resumed run starts again from the first round",
            where=str(resumed.folder),
            fix="give --resume-args that make the program resume",
        )
    if found.before_the_stop:
        raise CannotJudgeError(
            "the resumed run's log begins where the whole run's does, but lacks the stopped run's records",
            where=str(resumed.folder),
            fix="let it write its records with the whole run's step numbers",
        )
    if found.divergence is None and begun != diagnosis.LATER:
        raise CannotJudgeError(
            "the records are equal, but nothing shows whether the resumed run continued or started again",
            where=str(resumed.folder),
            expected="a loop of the program that continues at a later round",
            fix="stop earlier (400 rounds are recorded), or write only the resumed run's own records",
        )


def _agrees(
    whole: InstrumentedRun,
    output: Path | None,
    ran: InstrumentedRun,
    *,
    ignore: Sequence[str],
    shares: Collection[Fraction],
) -> bool:
    """Whether a resumed run has the whole run's records."""
    if ran.trouble:
        return False
    try:
        logs = whole.folder / OUTPUT, output, ran.folder / OUTPUT
        return rejoined(*logs, ignore=ignore, shares=shares).divergence is None
    except CannotJudgeError:
        return False


def _goes_alike(resumed: InstrumentedRun, ran: InstrumentedRun) -> bool:
    """Whether a run comes to its end with as many records as the resumed run, at the same steps."""
    try:
        return not ran.trouble and wrote_alike(resumed.folder / OUTPUT, ran.folder / OUTPUT)
    except CannotJudgeError:
        return False


def _read_at(resumed: InstrumentedRun, left: Path) -> tuple[str, int, str] | None:
    """Where the resumed run reads what the stopped one left: the largest file is taken to hold the state."""
    state = _state_file(resumed, left)
    return state.read if state else None


def _state_file(resumed: InstrumentedRun, left: Path) -> OutsideFile | None:
    files = [one for path, one in resumed.trace.files.items() if Path(path).is_relative_to(left)]
    read = [one for one in files if one.read and not one.read_after_write and Path(one.path).is_file()]
    return max(read, key=lambda one: Path(one.path).stat().st_size, default=None)


def _where_read(
    lab: InstrumentedProgram, resumed: InstrumentedRun, left: Path, *, given: Conditions, known: list[str]
) -> list[Cause]:
    """The line that reads what the stopped run left, where no experiment shows what is missing there.

    Resumed once more, the program has to come to the same numbers: else it is not resuming that changes them.
    Of several files the largest is taken to hold the state.
    """
    state = _state_file(resumed, left)
    if state is None:
        return []
    again = lab.run("resumed-again", given)
    category, confidence, fix = "resume_state", "medium", _KEEP
    what = (
        f"not everything that the training continues from is restored by reading {Path(state.path).name} here"
    )
    if not lab.equal(resumed, again):
        category, confidence = "unknown", "low"
        known.append("two resumed runs differ: what makes them differ is not state that was lost on resuming")
        what = "what the stopped run left is read here; two resumed runs differ already"
        fix = "find out why first: run the resumed command without --resume"
    file, line, function = state.read or (None, None, None)
    return [
        Cause(
            category=category,
            file=file,
            line=line,
            function=function,
            what=what,
            fix=fix,
            confidence=confidence,
        )
    ]
