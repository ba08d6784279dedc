"""Tasks on Slurm: arrays that submitit hands over, asked for by squeue and ended by scancel.

submitit's own way of asking needs an accounting database; squeue does not, and knows a job for as long as
``MinJobAge`` says. Slurm may begin a job again by itself: its command then makes another attempt.
Source: https://slurm.schedmd.com/squeue.html, https://github.com/facebookincubator/submitit
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.errors import SchedulerError
from reprokit.features.machines.place import Task, TaskState, TaskStatus
from reprokit.features.machines.slurm_worker import SlurmCommand

#: What ``--slurm NAME=VALUE`` may name, as submitit calls it.
SETTINGS = ("partition", "account", "gres", "constraint", "qos", "time")
_GOING = {
    **dict.fromkeys(("PENDING", "CONFIGURING", "REQUEUED", "RESIZING"), TaskState.QUEUED),
    **dict.fromkeys(("RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING"), TaskState.RUNNING),
    **dict.fromkeys(("COMPLETED", "FAILED", "OUT_OF_MEMORY"), TaskState.ENDED),
    **dict.fromkeys(("NODE_FAIL", "BOOT_FAIL", "PREEMPTED"), TaskState.LOST),
    **dict.fromkeys(("TIMEOUT", "DEADLINE"), TaskState.TIMED_OUT),
    "CANCELLED": TaskState.STOPPED,
}
_ANSWER_S = 60.0
_DEFAULT_MINUTES = 24 * 60


class SlurmPlace:
    """A Slurm cluster, by its commands on this machine. Nothing stays connected."""

    name = "slurm"

    def __init__(self, settings: Mapping[str, str], *, folder: Path) -> None:
        unknown = sorted(set(settings) - set(SETTINGS))
        if unknown:
            raise SchedulerError(
                f"--slurm does not take {unknown[0]!r}",
                where=f"--slurm {unknown[0]}=…",
                expected=", ".join(SETTINGS),
            )
        self.settings: Mapping[str, str] = dict(settings)
        self._folder = folder
        try:
            import submitit
        except ImportError as error:
            raise SchedulerError(
                "submitit is not installed", where="--on slurm", fix="pip install 'reprokit-verify[slurm]'"
            ) from error
        self._submitit: Any = submitit
        self.machines()

    def machines(self) -> tuple[str, ...]:
        """See ``Place.machines``."""
        up = {"idle", "mixed", "allocated"}
        return tuple(sorted({name for name, state in self._nodes() if state in up}))

    def _nodes(self) -> list[tuple[str, str]]:
        """Every node, whatever it does, and its state."""
        partition = self.settings.get("partition")
        told = _answer(
            "sinfo",
            "--noheader",
            "--Node",
            "--format=%N %T",
            *([f"--partition={partition}"] if partition else ()),
        )
        rows = [line.split() for line in told.splitlines()]
        return [(row[0], row[1]) for row in rows if len(row) == 2]

    def submit(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """See ``Place.submit``."""
        handles: dict[str, str] = {}
        for machines in dict.fromkeys(task.machines for task in tasks):
            alike = [task for task in tasks if task.machines == machines]
            executor = self._executor(alike, machines)
            with _as_scheduler_error():
                jobs = executor.map_array(_call, [_command(task) for task in alike])
            handles |= {task.name: str(job.job_id) for task, job in zip(alike, jobs, strict=True)}
        return tuple(handles[task.name] for task in tasks)

    def standing(self, handles: Sequence[str]) -> tuple[TaskStatus, ...]:
        """See ``Place.standing``."""
        told = (
            _answer("squeue", "--noheader", "--array", "--states=all", "--format=%i|%T|%N|%r")
            if handles
            else ""
        )
        rows = {line.split("|")[0].strip(): line.split("|") for line in told.splitlines() if "|" in line}
        return tuple(_standing(rows.get(handle)) for handle in handles)

    def cancel(self, handles: Sequence[str]) -> None:
        """See ``Place.cancel``: Slurm sends SIGTERM, and SIGKILL after its ``KillWait``."""
        if handles:
            _answer("scancel", "--quiet", *handles)

    def close(self) -> None:
        """See ``Place.close``: there is nothing to end."""

    def _executor(self, tasks: Sequence[Task], machines: Sequence[str]) -> Any:
        first = tasks[0]
        self._folder.mkdir(parents=True, exist_ok=True)
        executor = self._submitit.SlurmExecutor(folder=self._folder / "slurm")
        more: dict[str, Any] = {"requeue" if first.may_be_requeued else "no-requeue": True}
        if first.memory_bytes is not None:
            more["mem"] = f"{first.memory_bytes >> 20}M"
        if len(machines) == 1:
            more["nodelist"] = machines[0]
        elif machines:  # a list of nodes asks for all of them, so the others are named
            others = sorted({name for name, _ in self._nodes()} - set(machines))
            more |= {"exclude": ",".join(others)} if others else {}
        told = {name: self.settings[name] for name in SETTINGS if name in self.settings and name != "time"}
        if first.num_gpus and "gres" not in told:
            told["gres"] = f"gpu:{first.num_gpus}"
        executor.update_parameters(
            job_name="reprokit",
            time=int(self.settings.get("time", _DEFAULT_MINUTES)),
            cpus_per_task=max(1, first.num_cpus),
            array_parallelism=max(1, len(tasks)),
            additional_parameters=more,
            stderr_to_stdout=True,
            **told,
        )
        return executor


def _command(task: Task) -> SlurmCommand:
    return SlurmCommand(
        words=task.command,
        environment=dict(task.environment),
        folder=str(task.working_dir),
        log=str(task.log),
        may_be_requeued=task.may_be_requeued,
    )


def _call(command: SlurmCommand) -> int:
    return command()


def _standing(row: Sequence[str] | None) -> TaskStatus:
    if row is None:
        return TaskStatus(going=TaskState.UNKNOWN, message="Slurm no longer knows it")
    _, state, node, reason = (word.strip() for word in row[:4])
    going = _GOING.get(state, TaskState.RUNNING)
    ended = going in {TaskState.LOST, TaskState.STOPPED, TaskState.TIMED_OUT}
    return TaskStatus(going=going, machine=node, message=f"Slurm says {state} ({reason})" if ended else "")


def _answer(*command: str) -> str:
    """What one of Slurm's commands prints.

    Raises:
        SchedulerError: It is not there, fails or hangs.
    """
    fix = "`sinfo` shows whether the controller answers; runs continue meanwhile"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SchedulerError(f"{command[0]} gives no answer: {error}", where="--on slurm", fix=fix) from error
    if done.returncode != 0:
        told = " ".join(done.stderr.split())[:300]
        raise SchedulerError(f"{command[0]} failed: {told}", where="--on slurm", fix=fix)
    return done.stdout


@contextlib.contextmanager
def _as_scheduler_error() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # submitit has many, and the command's own words in them
        raise SchedulerError(
            f"Slurm does not take the tasks: {' '.join(str(error).split())[:300]}", where="--on slurm"
        ) from error
