"""A PBS queue as a place to run: ``--on pbs --place queue=work``."""

import json
import shlex
import subprocess

from reprokit.api import SchedulerError, UsageError
from reprokit.api.extensions import TaskState, TaskStatus

TERMINATED = 91  # the substate of a job that qdel ended
KILLED_AT_WALLTIME = -29  # the exit status of a job that used up its time
WAITING = {"Q", "H", "W", "T"}


def answer(*words):
    """What a command of PBS prints."""
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SchedulerError(f"{words[0]} could not be run: {error}", where="--on pbs") from error
    if done.returncode:
        raise SchedulerError(f"{words[0]} failed: {done.stderr.strip()[:200]}", where="--on pbs")
    return done.stdout


class PbsPlace:
    """The queue, seen through qsub, qstat, qdel and pbsnodes."""

    name = "pbs"

    def __init__(self, settings, folder):
        self.settings, self.folder = settings, folder
        folder.mkdir(parents=True, exist_ok=True)

    def machines(self):
        """The nodes that are up."""
        nodes = json.loads(answer("pbsnodes", "-a", "-F", "json"))["nodes"]
        return tuple(name for name, node in nodes.items() if node["state"] in ("free", "job-busy"))

    def submit(self, tasks):
        """Hand tasks over; the handle of each is its job id."""
        return tuple(answer("qsub", *self.resources(task), str(self.script(task))).strip() for task in tasks)

    def script(self, task):
        """Write the script of a job."""
        variables = [f"{name}={value}" for name, value in task.environment.items()]
        command = shlex.join(["env", "-i", *variables, *task.command, "--node"])
        lines = [f"cd {shlex.quote(str(task.working_dir))}", f'exec {command} "$(head -n 1 "$PBS_NODEFILE")"']
        path = self.folder / f"{task.name}.pbs"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def resources(self, task):
        """What qsub is told of a task."""
        chunk = [f"select=1:ncpus={max(1, task.num_cpus)}"]
        chunk += [f"ngpus={task.num_gpus}"] if task.num_gpus else []
        chunk += [f"mem={task.memory_bytes}b"] if task.memory_bytes else []
        chunk += [f"host={name}" for name in task.machines[:1]]
        words = ["-j", "oe", "-o", str(task.log), "-r", "y" if task.may_be_requeued else "n"]
        words += ["-l", ":".join(chunk)]
        words += ["-l", f"walltime={int(task.timeout_s)}"] if task.timeout_s else []
        words += ["-q", self.settings["queue"]] if "queue" in self.settings else []
        return words

    def standing(self, handles):
        """How each job is."""
        jobs = json.loads(answer("qstat", "-x", "-f", "-F", "json", *handles))["Jobs"] if handles else {}
        return tuple(status(jobs.get(handle)) for handle in handles)

    def cancel(self, handles):
        """End jobs; those that have ended are left alone."""
        if going := [
            handle
            for handle, now in zip(handles, self.standing(handles), strict=True)
            if now.going in (TaskState.QUEUED, TaskState.RUNNING)
        ]:
            answer("qdel", *going)

    def close(self):
        """Nothing is held open."""


def status(job):
    """What PBS says of a job, in reprokit's words."""
    if job is None:
        return TaskStatus(going=TaskState.UNKNOWN, message="PBS no longer knows the job")
    machine = job.get("exec_host", "").partition("/")[0]
    if job["job_state"] in WAITING:
        return TaskStatus(going=TaskState.QUEUED)
    if job["job_state"] != "F":
        return TaskStatus(going=TaskState.RUNNING, machine=machine)
    if job.get("substate") == TERMINATED:
        return TaskStatus(going=TaskState.STOPPED, machine=machine, message="qdel ended the job")
    if job.get("Exit_status") == KILLED_AT_WALLTIME:
        return TaskStatus(going=TaskState.TIMED_OUT, machine=machine, message="its walltime is used up")
    return TaskStatus(going=TaskState.ENDED, machine=machine)


def open_place(settings, *, folder):
    """Called for ``--on pbs``; the only setting is the queue."""
    if unknown := sorted(set(settings) - {"queue"}):
        raise UsageError(
            "the place pbs has no such setting", where="--place", expected="queue", actual=unknown[0]
        )
    return PbsPlace(settings, folder)
