"""Tasks as jobs of PBS: handed over by qsub, asked for by qstat, ended by qdel."""

import json
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from reprokit.api import SchedulerError
from reprokit.api.extensions import Task, TaskState, TaskStatus

_GOING = {
    **dict.fromkeys("QWHT", TaskState.QUEUED),
    **dict.fromkeys("RESB", TaskState.RUNNING),
    **dict.fromkeys("FX", TaskState.ENDED),
}
_DELETED = 256 + 15  # what PBS says of a job that qdel ended


class PbsPlace:
    name = "pbs"

    def __init__(self, settings: Mapping[str, str], *, folder: Path) -> None:
        if unknown := sorted(set(settings) - {"queue"}):
            raise SchedulerError(f"--place does not take {unknown[0]!r}", expected="queue")
        self.settings = settings
        self._folder = folder
        self.machines()

    def machines(self) -> tuple[str, ...]:
        nodes = json.loads(answer("pbsnodes", "-a", "-F", "json"))["nodes"]
        return tuple(sorted(name for name, node in nodes.items() if node["state"] in {"free", "job-busy"}))

    def submit(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        self._folder.mkdir(parents=True, exist_ok=True)
        return tuple(self._submitted(task) for task in tasks)

    def _submitted(self, task: Task) -> str:
        script = self._folder / f"{task.name}.pbs"
        variables = [f"{name}={value}" for name, value in task.environment.items()]
        command = shlex.join(["env", "-i", *variables, *task.command, "--node"])
        script.write_text(f'cd {shlex.quote(str(task.working_dir))}\nexec {command} "$PBS_NODE"\n')
        script.chmod(0o700)
        node = f":host={task.machines[0]}" if task.machines else ""
        resources = ["-l", f"select=1:ncpus={max(1, task.num_cpus)}:ngpus={task.num_gpus}{node}"]
        if task.timeout_s is not None:
            resources += ["-l", f"walltime={int(task.timeout_s)}"]
        queue = ["-q", self.settings["queue"]] if "queue" in self.settings else []
        log = ["-j", "oe", "-o", str(task.log)]
        return answer("qsub", "-N", task.name[:15], *queue, *log, *resources, str(script)).strip()

    def standing(self, handles: Sequence[str]) -> tuple[TaskStatus, ...]:
        if not handles:
            return ()
        jobs = json.loads(answer("qstat", "-x", "-f", "-F", "json", *handles)).get("Jobs", {})
        return tuple(self._standing(jobs.get(handle)) for handle in handles)

    def _standing(self, job: Mapping[str, object] | None) -> TaskStatus:
        if job is None:
            return TaskStatus(going=TaskState.UNKNOWN, message="PBS no longer knows the job")
        machine = str(job.get("exec_host", "")).partition("/")[0]
        going = _GOING.get(str(job["job_state"]), TaskState.RUNNING)
        if going is TaskState.ENDED and job.get("Exit_status") == _DELETED:
            return TaskStatus(going=TaskState.STOPPED, machine=machine, message="the job was deleted")
        return TaskStatus(going=going, machine=machine)

    def cancel(self, handles: Sequence[str]) -> None:
        if handles:
            answer("qdel", *handles)

    def close(self) -> None:
        """Nothing stays connected."""


def answer(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SchedulerError(f"{command[0]} gives no answer: {error}", where="--on pbs") from error
    if done.returncode:
        raise SchedulerError(f"{command[0]} failed: {done.stderr.strip()[:200]}", where="--on pbs")
    return done.stdout


def open_place(settings: Mapping[str, str], *, folder: Path) -> PbsPlace:
    return PbsPlace(settings, folder=folder)
