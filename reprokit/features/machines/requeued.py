"""A job that its engine began again: the next run of it, and the checkpoint that it continues from.

Slurm begins a job again whose node went down, that was preempted, or that someone requeued. Its run folder is
there then; the next run has a folder of its own, which a file next to the job names to whoever follows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit import runs, workspace
from reprokit.core.records import SCHEMA_VERSION, Outcome
from reprokit.errors import CheckpointError, ReportError, UsageError
from reprokit.features.machines.member_job import MemberJob
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.resuming.resume_point import choose
from reprokit.harness.running.run_kinds import ResumePoint
from reprokit.layout import read_json
from reprokit.project import Project
from reprokit.records import run_json

#: A run that ended so may be begun again: Slurm's signals reach the program too. Other ends are its own.
_AGAIN = frozenset({Outcome.INTERRUPTED, Outcome.MACHINE_LOST, Outcome.TIMED_OUT, Outcome.SIGNALLED})
_RESUMED = "resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """The run that a job is to make now.

    Attributes:
        job: With the run id and the number of this attempt.
        point: The checkpoint that it continues from; None where it begins with the first step.
        over: Whether there is nothing to make: the job's run has ended by itself.
    """

    job: MemberJob
    point: ResumePoint | None = None
    over: bool = False


def begun_file(file: Path) -> Path:
    """Where the runs of a job stand that was begun again."""
    return file.with_suffix(".begun.json")


def runs_of(file: Path, job: MemberJob) -> list[MemberJob]:
    """The job as it was for each of its runs, the newest last."""
    rows = read_json(begun_file(file)).get("runs")
    later = rows if isinstance(rows, list) else []
    return [
        job,
        *(replace(job, stamped=row["stamped"], ends=row["ends"], attempt=row["attempt"]) for row in later),
    ]


def next_of(file: Path, job: MemberJob, *, project: Project, can_resume: bool = True) -> Next:
    """What a job is to make, by the runs of it that there are.

    Args:
        file: The job's.
        job: What it says.
        project: Where runs live.
        can_resume: Whether a run of it can continue from a checkpoint.

    Raises:
        WorkspaceError: A folder cannot be written.
    """
    before = runs_of(file, job)
    last = project.runs_dir / job.recipe / before[-1].run_id
    record = run_json.recorded(last)
    if record.is_empty:
        return Next(job=before[-1])
    if record.state == "running" or record.outcome == Outcome.INTERRUPTED:
        why = "the scheduler started the job again: its machine was lost, or it was requeued"
        runs.close_interrupted(last, message=why, outcome=Outcome.MACHINE_LOST)
    elif record.outcome not in _AGAIN:
        return Next(job=before[-1], over=True)
    point = newest_checkpoint(file, job, project=project) if can_resume else None
    number = job.attempt + len(before)
    made = replace(job, stamped=stamp(), ends=_RESUMED if point else "1", attempt=number)
    rows = [{"stamped": one.stamped, "ends": one.ends, "attempt": one.attempt} for one in (*before, made)[1:]]
    workspace.write_json(begun_file(file), {"schema": SCHEMA_VERSION, "runs": rows})
    return Next(job=made, point=point)


def newest_checkpoint(file: Path, job: MemberJob, *, project: Project) -> ResumePoint | None:
    """The newest whole checkpoint of the runs of a job; None where there is none."""
    points = _points(runs_of(file, job), project=project)
    return max(points, key=lambda point: point.step, default=None)


def has_come_further(file: Path, job: MemberJob, *, project: Project) -> bool:
    """Whether the newest run of a job has a checkpoint of its own: begun again, the job comes further."""
    return bool(_points(runs_of(file, job)[-1:], project=project))


def _points(jobs: Sequence[MemberJob], *, project: Project) -> list[ResumePoint]:
    found = []
    for job in jobs:
        folder = project.runs_dir / job.recipe / job.run_id
        try:
            found.append(choose(str(folder), project=project).point)
        except (CheckpointError, ReportError, UsageError):
            continue  # it was stopped before its first checkpoint, or is a program of which none is known
    return found
