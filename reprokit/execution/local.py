"""Runs as plain processes of this host, in a virtual environment or the caller's own Python.

Between the tool and the program stands ``local_guard``: it ends the program with all its children when
the run is over, stopped, or when the tool itself was killed.

A recipe's program gets exactly the variables of its RunSpec and a minimal PATH, HOME, TMPDIR, TZ
and LC_ALL. A plain command keeps the caller's variables and working directory. Neither can read
the terminal. Where its RunSpec says so and the kernel can (landlock), a program writes to its own folders;
nothing here confines what it may read: that takes a container.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.execution import accelerators, code_elsewhere, other_files
from reprokit.execution.kernel_log import KernelLog, Killed
from reprokit.execution.local_guard import can_confine
from reprokit.execution.local_program import GuardedProgram
from reprokit.execution.mounted_copies import SharedCopies, mounted_copies
from reprokit.execution.outcome import (
    Explanation,
    ProgramEnd,
    StopRunError,
    Stopwatch,
    cannot_write,
    command_missing,
    explain,
    readable_size,
    start_refused,
    timed_out,
)
from reprokit.execution.placeholders import fill, fill_folder, placeholders
from reprokit.execution.run_folder import free_bytes, open_logs, stderr_tail
from reprokit.layout import BYTE_CODE, OUTPUT, PROGRAM

_DENIED = re.compile(r"\[Errno (?:13|18)\]|Permission denied")
_OWN_FOLDERS = (
    "have the program write to {run_dir} and its temporary folder (TMPDIR) only, as in a container: "
    "two runs could read all else, and packages come from the lock"
)


class LocalBackend:
    """Runs programs as processes of this host. Safe to use from several threads.

    Args:
        workspace: The runs folder, where confined programs share a copy of what they import; None for none.
    """

    name = "local"

    def __init__(self, *, workspace: str | None = None) -> None:
        self._copies = SharedCopies(Path(workspace)) if workspace is not None else None

    def run(self, spec: RunSpec, run_dir: Path, *, on_tick: Callable[[], None]) -> RunResult:
        """See ``Backend.run``."""
        watch = Stopwatch()
        shared = self._copies if _cannot_write_beside(spec, run_dir) else None
        with mounted_copies(spec, run_dir, shared=shared) as copies, KernelLog() as kernel_log:
            if copies.problem is not None:
                return watch.result(copies.problem, isolation={"backend": "local"})
            return copies.unless_changed(self._run(copies.spec, run_dir, kernel_log, on_tick=on_tick))

    def _run(
        self, spec: RunSpec, run_dir: Path, kernel_log: KernelLog, *, on_tick: Callable[[], None]
    ) -> RunResult:
        watch = Stopwatch()
        isolation: dict[str, Any] = {"backend": "local"}
        if spec.limits.cpus is not None and hasattr(os, "sched_setaffinity"):
            isolation["cpus"] = list(spec.limits.cpus)
        if not spec.command:
            return watch.result(command_missing("", "the command line is empty"), isolation=isolation)
        with contextlib.ExitStack() as opened:
            try:
                logs = tuple(map(opened.enter_context, open_logs(run_dir)))
            except OSError as error:
                return watch.result(cannot_write(str(run_dir), error), isolation=isolation)
            plan = _plan(spec, output=(run_dir / OUTPUT).resolve())
            try:
                program = opened.enter_context(GuardedProgram(plan, logs=logs))
            except OSError as error:
                return watch.result(start_refused(str(error)), isolation=isolation)
            overdue, stopped = False, None
            try:
                overdue = program.watch(limit_s=spec.limits.timeout_s, on_tick=on_tick)
            except StopRunError as stop:
                stopped = stop.why
        facts = program.facts()
        if spec.confined:
            isolation["confined"] = bool(facts.get("confined"))
        seen = _seen(spec, run_dir, facts, killed=kernel_log.kills().of_process(facts.get("pid")))
        why = _explain(spec, seen, facts, overdue=overdue, stopped=stopped, survivors=program.survivors)
        result = watch.result(why, seen=seen, isolation=isolation)
        if spec.other_tree is not None:
            found = other_files.opened(facts, spec.other_tree)
            result = replace(result, other_tree=found, needs_privileges=str(facts.get("privileged", "")))
        if spec.realisation is None:
            return result
        found = code_elsewhere.judged(facts, python=plan["watched"]["libraries"])
        return replace(result, outside_code=found)


def _plan(spec: RunSpec, *, output: Path) -> dict[str, Any]:
    """What the guard is to start, every placeholder filled in."""
    scratch = f"{tempfile.gettempdir()}/reprokit-{secrets.token_hex(8)}"
    python = spec.realisation.python if spec.realisation else sys.executable
    values = placeholders(spec, run_dir=str(output), mounts=f"{scratch}/mounts", python=python)
    given = {name: fill(value, values) for name, value in spec.environment.items()}
    if spec.inherit_environment:
        base_variables, working_dir = dict(os.environ), None
    else:
        base_variables, working_dir = _minimal_variables(python, scratch), str(output)
        base_variables["PYTHONPYCACHEPREFIX"] = _byte_code(spec, given) or f"{scratch}/byte-code"
    return {
        "command": [fill(word, values) for word in spec.command],
        "environment": {**base_variables, **_visible_gpus(spec), **given},
        "working_dir": fill_folder(spec.working_dir, values) if spec.working_dir else working_dir,
        "cpus": spec.limits.cpus,
        # a GPU's driver maps more than it uses: there a limit on mappings would be no limit on memory
        "memory_bytes": spec.limits.memory_bytes if spec.device == "cpu" else None,
        "scratch": scratch,
        "writable": _writable(output, scratch) if spec.confined else [],
        "watched": _watched(spec, output, scratch),
        "output": str(output),
        "mounts": {mount.target: mount.path for mount in spec.mounts},
    }


def _writable(output: Path, scratch: str) -> list[str]:
    """Where a confined program may write: its output, the copy of its own files, temporary files, memory."""
    return [str(output), str(output.parent / PROGRAM), scratch, "/dev/shm"]  # noqa: S108


def _watched(spec: RunSpec, output: Path, scratch: str) -> dict[str, Any]:
    """Where the code of a pinned program lies, for ``opened_code``, and what no program of it may open."""
    others = other_files.watched_for(spec, run_dir=output.parent)
    if spec.realisation is None:  # its code may lie anywhere
        return {"environment": [], "libraries": [], "own": [], "others": others} if others else {}
    return {
        "others": others,
        "environment": [spec.realisation.reference],
        "libraries": code_elsewhere.libraries_of(spec.realisation.python),
        "own": [str(output.parent), scratch, *(mount.path for mount in spec.mounts), *code_elsewhere.OURS],
    }


def _cannot_write_beside(spec: RunSpec, run_dir: Path) -> bool:
    """Whether the program can write to nothing next to its run folder: confined, and not in shared memory."""
    return spec.confined and can_confine() and not run_dir.resolve().is_relative_to("/dev")


def _visible_gpus(spec: RunSpec) -> dict[str, str]:
    """Which GPUs the program sees; nothing is set where it sees all of them."""
    numbers = accelerators.gpus_of(spec)
    return {} if numbers is None else {accelerators.VISIBLE: ",".join(map(str, numbers))}


def _minimal_variables(python: str, scratch: str) -> dict[str, str]:
    return {
        "PATH": f"{Path(python).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": f"{scratch}/home",
        "TMPDIR": f"{scratch}/tmp",  # noqa: S108
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
    }


def _byte_code(spec: RunSpec, given: Mapping[str, str]) -> str:
    """The folder of an environment's own byte-code, "" where there is none or the program may write to it.

    No ``__pycache__`` that is next to a source is read either way.
    """
    kept = Path(spec.realisation.reference) / BYTE_CODE if spec.realisation else Path()
    is_read_only = bool(given.get("PYTHONDONTWRITEBYTECODE"))
    return str(kept) if kept.name == BYTE_CODE and is_read_only and kept.is_dir() else ""


def _seen(spec: RunSpec, run_dir: Path, facts: Mapping[str, Any], *, killed: Killed) -> ProgramEnd:
    status = facts.get("status")
    used = readable_size(facts.get("max_rss_bytes", 0))
    return ProgramEnd(
        exit_code=status if status is not None and status >= 0 else None,
        signal=-status if status is not None and status < 0 else None,
        out_of_memory=f"it was killed while the system's out-of-memory killer was active, after using {used}"
        if status == -signal.SIGKILL and killed is not Killed.NONE
        else "",
        stderr_tail=stderr_tail(run_dir),
        program=spec.command[0] if spec.command else "",
        output=str((run_dir / OUTPUT).resolve()),
        free_bytes=free_bytes(run_dir),
    )


def _explain(
    spec: RunSpec,
    seen: ProgramEnd,
    facts: Mapping[str, Any],
    *,
    overdue: bool,
    stopped: Explanation | None,
    survivors: Sequence[int] | None,
) -> Explanation:
    if "step" in facts:
        return _not_started(spec, facts)
    if stopped is not None:
        why = stopped
    elif overdue and seen.exit_code != 0:
        why = timed_out(spec.limits.timeout_s or 0.0)
    elif "status" not in facts:
        why = Explanation(
            outcome=Outcome.SIGNALLED,
            message="the guard process of the program was killed, and the program with it",
            remedy="find out who killed it: a job scheduler, a person, or the kernel (dmesg)",
        )
    else:
        why = explain(seen)
        if facts.get("confined") and why.outcome is Outcome.CRASHED and _DENIED.search(why.message):
            why = replace(why, remedy=_OWN_FOLDERS)
        return why
    if survivors is None:
        return replace(why, message=f"{why.message}; processes that it had started may still run")
    if survivors:
        numbers = ", ".join(map(str, survivors))
        return replace(why, message=f"{why.message}; of what it had started, these still run: {numbers}")
    return why


def _not_started(spec: RunSpec, facts: Mapping[str, Any]) -> Explanation:
    """The guard could not start the program: which step failed decides."""
    if facts["step"] == "exec":
        return command_missing(spec.command[0], facts["error"])
    if facts["step"] == "cpus":
        return start_refused(f"cores {spec.limits.cpus} are not available to this process")
    if facts["step"] == "chdir":
        return start_refused(f"the working directory {spec.working_dir}: {facts['error']}")
    if facts["errno"] in {errno.ENOSPC, errno.EDQUOT}:
        return cannot_write(tempfile.gettempdir(), OSError(facts["errno"], facts["error"]))
    return start_refused(f"{facts['step']}: {facts['error']}")
