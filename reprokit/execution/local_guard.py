"""The guard of a local run: a small process between the tool and the program that outlives neither.

``local.py`` starts it as a script (``python -I -S``); it imports nothing of reprokit or of the program's
environment. It reads what to start from its standard input, one line of JSON. That pipe stays open as
long as the tool wants the run; when it closes, because the tool closed it or was killed, the guard ends
the program with all its children, removes the run's temporary folder and exits. It reports on its
standard output in lines of JSON:

    >>> {"pid": 4711}                                  # started; its process group has this number
    >>> {"errno": 2, "step": "exec", "error": "…"}     # or: not started, and why
    >>> {"status": -11, "max_rss_bytes": 98304000}     # ended: exit code, or minus the signal
    >>> {"confined": true}                             # it may write to the folders of ``writable`` only
    >>> {"opened": [["started", "/usr/bin/python3", "/usr/bin/bash"]], "unknown": "", "privileged": ""}
    ...                                                # of ``OpenedCode``

On Linux, children that left the process group are found too (the guard adopts orphans), and
the program is killed with the guard. Source: prctl(2), waitpid(2), landlock(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import types
from pathlib import Path
from typing import Any

with contextlib.suppress(ModuleNotFoundError):  # Windows has none, and no run is made there
    import resource

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # on every architecture
_LANDLOCK_KEEPS_LENGTHS = 3  # the first version that knows truncate(2), of Linux 6.2
_WRITES_INTO = 1 << 1 | 1 << 14  # to write to files that are there, and shorten them
_WRITES = _WRITES_INTO | sum(1 << bit for bit in range(4, 14))  # and to make, remove and rename some
_DEVICES = ("/dev", "/proc")
_LINUX = sys.platform == "linux"


def main() -> int:
    """Start the program, wait for its end or the tool's, leave nothing behind."""
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 0  # the tool went away while it wrote
    plan: dict[str, Any] = json.loads(line)
    bell = _ring_on_child_exit()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    scratch = Path(plan["scratch"])
    try:
        scratch.mkdir(mode=0o700)  # made here, so that a killed tool cannot leave it behind
        try:
            _furnish(scratch, plan["mounts"])
            ending = _run(plan, bell)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        ending = _trouble(error, "scratch folder or fork")
    _report(ending)
    return 0


def _furnish(scratch: Path, mounts: dict[str, str]) -> None:
    for name in ("mounts", "home", "tmp"):
        (scratch / name).mkdir()
    for name, path in mounts.items():
        link = scratch / "mounts" / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(path)


def _run(plan: dict[str, Any], bell: int) -> dict[str, Any]:
    """From the program's start to the end of its last child; what to report of it."""
    if plan["writable"]:
        plan["writable"] = plan["writable"] if can_confine() else []
        _report({"confined": bool(plan["writable"])})
    opened = _watch_of(plan) if plan["watched"] else None
    program, trouble = _spawn(plan, opened)
    if trouble:
        return trouble
    _report({"pid": program})
    status, max_rss_bytes = _follow(program, bell)
    _end_what_is_left(program)
    if opened is not None:
        opened.end()
        opened.look_at(plan["output"])
        _report({"opened": [*opened.found], "unknown": opened.unknown, "privileged": opened.privileged})
    return {"status": os.waitstatus_to_exitcode(status), "max_rss_bytes": max_rss_bytes}


def _trouble(error: BaseException, step: str) -> dict[str, Any]:
    code = error.errno if isinstance(error, OSError) else None
    return {"errno": code, "step": step, "error": getattr(error, "strerror", None) or repr(error)}


def _report(fact: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # no one is left to hear it
        sys.stdout.write(json.dumps(fact) + "\n")
        sys.stdout.flush()


def _ring_on_child_exit() -> int:
    """A file descriptor that becomes readable when a child ends; other signals do not end the guard."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # what the caller ignores stays ignored
            signal.signal(number, lambda *_: None)
    return read_end


def _watch_of(plan: dict[str, Any]) -> Any:
    """What listens; the files of other runs that are there are looked for now, before the program starts."""
    watched = dict(plan["watched"])
    if watched["others"] is not None:
        since_ns = os.fstat(plan["stdout"]).st_ctime_ns  # just made, on the file system of the runs
        watched["others"] = _beside("other_runs").OtherRuns(**watched["others"], since_ns=since_ns)
    return _beside("opened_code").OpenedCode(**watched)


def _beside(name: str) -> Any:
    """A module next to this one, from its source: byte-code there is neither read, nor written."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")  # noqa: PTH100, PTH118, PTH120
    with open(path, "rb") as source:  # noqa: PTH123
        code = compile(source.read(), path, "exec")
    module = types.ModuleType(name)
    exec(code, module.__dict__)  # noqa: S102
    return module


def _spawn(plan: dict[str, Any], opened: Any) -> tuple[int, dict[str, Any] | None]:
    """Fork and execute; the child's troubles on the way come back through a pipe."""
    read_end, write_end = os.pipe()
    here, there = socket.socketpair()
    program = os.fork()
    if program == 0:
        step = ["prepare"]
        try:
            _become(plan, step, there if opened is not None else None)
        except BaseException as error:  # whatever it is: a forked guard must never continue as a second one
            os.write(write_end, json.dumps(_trouble(error, step[0])).encode())
        finally:
            os._exit(127)
    os.close(write_end)
    there.close()
    with here:
        if opened is not None:
            _listen(opened, here)
    with os.fdopen(read_end, "rb") as trouble_pipe:
        words = trouble_pipe.read()
    if not words:
        return program, None
    os.waitpid(program, 0)
    return program, json.loads(words)


def _listen(opened: Any, here: socket.socket) -> None:
    """Begin, with what the child sends before it becomes the program."""
    words, descriptors, _, _ = here.recvmsg(1, socket.CMSG_SPACE(4))
    kernel = _beside("kernel_notices")
    if words and descriptors:
        (listener,) = struct.unpack("i", descriptors[0][2][:4])
        opened.listen(kernel.Notices(listener), gives_up_privileges=words == b"+")
    elif words:  # none: it ended before it came so far
        opened.unknown = kernel.CANNOT


def _become(plan: dict[str, Any], step: list[str], told: socket.socket | None) -> None:
    """Turn this forked child into the program; ``step`` says how far it came, ``told`` hears what it uses."""
    os.setpgid(0, 0)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; programs expect the default
        signal.signal(ignored, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for log, number in ((plan["stdout"], 1), (plan["stderr"], 2)):
        os.dup2(log, number)
        os.set_inheritable(log, False)
    if plan["memory_bytes"] is not None:
        step[0] = "memory"
        resource.setrlimit(resource.RLIMIT_DATA, (plan["memory_bytes"], plan["memory_bytes"]))
    if plan["cpus"] is not None and _LINUX:
        step[0] = "cpus"
        os.sched_setaffinity(0, plan["cpus"])
    if plan["working_dir"] is not None:
        step[0] = "chdir"
        os.chdir(plan["working_dir"])
    if plan["writable"]:
        step[0] = "confine"
        _confine(plan["writable"])
    if told is not None:
        step[0] = "watch"
        of_mapped, others = bool(plan["watched"]["environment"]), plan["watched"]["others"]
        _beside("kernel_notices").tell(
            told, of_mapped=of_mapped, of_folders=others is not None and others["lists"]
        )
    step[0] = "exec"
    os.execvpe(plan["command"][0], plan["command"], plan["environment"])  # noqa: S606


def can_confine() -> bool:
    """Whether this kernel can keep a program from writing to folders that are not its own."""
    return _LINUX and ctypes.CDLL(None).syscall(_LANDLOCK_CREATE, None, 0, 1) >= _LANDLOCK_KEEPS_LENGTHS


def _confine(folders: list[str]) -> None:
    """From now on this process and its children write below these folders only, and to devices."""
    system = ctypes.CDLL(None, use_errno=True)

    def call(*words: Any) -> int:
        result = int(system.syscall(*words))
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    handled = ctypes.c_uint64(_WRITES)
    rules = call(_LANDLOCK_CREATE, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    for folder in (*folders, *_DEVICES):
        if os.path.isdir(folder):  # noqa: PTH112
            rights = _WRITES_INTO if folder in _DEVICES else _WRITES
            beneath = struct.pack("=Qi", rights, os.open(folder, os.O_PATH | os.O_CLOEXEC))
            call(_LANDLOCK_ADD, rules, 1, beneath, 0)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    call(_LANDLOCK_RESTRICT, rules, 0)


def _follow(program: int, bell: int) -> tuple[int, int]:
    """Wait until the program ends by itself, or until the tool closes the pipe; then end it."""
    while True:
        pid, status, usage = os.wait4(program, os.WNOHANG)
        if pid == program:
            return status, usage.ru_maxrss * (1024 if _LINUX else 1)
        ready, _, _ = select.select([0, bell], [], [])
        if bell in ready:
            os.read(bell, 4096)
        if 0 in ready and not os.read(0, 4096):
            os.kill(program, signal.SIGKILL)
            _, status, usage = os.wait4(program, 0)
            return status, usage.ru_maxrss * (1024 if _LINUX else 1)


def _end_what_is_left(program: int) -> None:
    """Kill the program's descendants: its process group, then every orphan that came to us."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                for child in _children():
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.kill(child, signal.SIGKILL)
                os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """This process's children by number, from /proc."""
    with os.scandir("/proc") as entries:
        everybody = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [pid for pid in everybody if _parent(pid) == os.getpid()]


def _parent(pid: int) -> int | None:
    try:
        stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
        try:  # the name before the last bracket may hold anything
            return int(os.read(stat, 4096).rpartition(b")")[2].split()[1])
        finally:
            os.close(stat)
    except OSError:
        return None  # it has just gone


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
