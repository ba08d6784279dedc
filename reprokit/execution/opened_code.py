"""Which files that are not its own a program opens, and all that it starts, seen from outside.

They are code from elsewhere, and files of other runs and trees (``other_runs``). The kernel says what is
opened (``kernel_notices``). For ``local_guard``, which alone imports it: standard library only.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

#: As in ``kernel_notices``: calls with which files can be opened that are not told of.
_UNSEEN = frozenset({"io_uring_setup", "open_by_handle_at"})
_AT_CWD, _LOW_HALF = 0xFFFFFF9C, 0xFFFFFFFF

_CODE = re.compile(r".+\.(?:py|pyc|pyw|pyz|pth|zip|egg|whl|so[\d.]*)", re.DOTALL)
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/.*", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?")
_SYSTEM_PROGRAMS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
_MOST_FILES, _MOST_SCRIPTS, _LOOK_UP_MS, _LAST_WAIT_S = 20_000, 4, 100, 5
_PATIENCE_S = 10.0
_STUCK = f"a file could not be looked at within {_PATIENCE_S:.0f} seconds, and no later one was"


class OpenedCode:
    """Listens until the program and all that it started have ended.

    Args:
        environment: Folders that are compared with what was installed: what they hold is the program's, and
            so is what a link in them leads to. Where there is none, its code may lie anywhere.
        libraries: Folders of the library of its Python, likewise; but packages in them are not its own.
        own: Other files and folders of the program, whose links may lead elsewhere.
        others: Files that count whatever they hold, as ``OtherRuns``; None for none.

    Attributes:
        found: Of what lies elsewhere, what was done (``started``, ``opened``, or what ``others`` call it:
            ``read``, ``left``, ``listed``), path, and by which program.
        unknown: Why there can be more; "" where all was seen.
        privileged: The first program that was started and did not get the privileges that it has set.
    """

    def __init__(
        self,
        *,
        environment: Iterable[str],
        libraries: Iterable[str],
        own: Iterable[str],
        others: Any = None,
    ) -> None:
        self._environment = tuple(f"{folder}/" for folder in environment)
        self._libraries = tuple(f"{folder}/" for folder in libraries)
        self._own = tuple(f"{os.path.realpath(path)}/" for path in own)
        self._others = others
        self._known: set[str] = set()
        self._has_begun = self._gives_up_privileges = self._is_stuck = False
        self._has_ended = threading.Event()
        self._notices: Any = None
        self._thread: threading.Thread | None = None
        self._looks_since = 0.0  # 0 where it waits
        self.found: dict[tuple[str, str, str], None] = {}
        self.unknown = self.privileged = ""

    def listen(self, notices: Any, *, gives_up_privileges: bool) -> None:
        """Begin.

        Args:
            notices: ``Notices``, before the program starts.
            gives_up_privileges: Whether a program that it starts gets no more privileges for that.
        """
        self._notices = notices
        self._gives_up_privileges = gives_up_privileges
        self._begin()
        threading.Thread(target=self._stand_by, daemon=True).start()

    def end(self) -> None:
        """Stop listening, once all of its processes have ended."""
        self._has_ended.set()
        if self._thread is not None:  # nothing calls any more: what it still waits for does not come
            self._thread.join(_LAST_WAIT_S)
            if self._thread.is_alive():
                self.unknown = self.unknown or "the kernel's last notice was not answered in time"

    def look_at(self, output: str) -> None:
        """Count what lies in the output and was not opened, such as a hard link to a file of ``others``."""
        for name in self._others.taken_into(output) if self._others is not None else ():
            self.found.setdefault(("read", name, ""), None)

    def _begin(self) -> None:
        self._looks_since = 0.0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _stand_by(self) -> None:
        """Answer without a look once one takes too long: the program may serve that file system itself."""
        while not self._has_ended.wait(_PATIENCE_S / 10):
            if self._looks_since and time.monotonic() - self._looks_since > _PATIENCE_S:
                self.unknown = self.unknown or _STUCK
                self._is_stuck = True
                self._begin()

    def _serve(self) -> None:
        notices, own_thread = self._notices, threading.current_thread()
        while not self._has_ended.is_set() and self._thread is own_thread:
            try:
                notice = notices.next(within_ms=_LOOK_UP_MS)
            except EOFError:
                return
            if notice is None:
                continue
            self._looks_since = time.monotonic()
            try:
                if not self._is_stuck:
                    self._look(notice.call, notice.pid, notice.words)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has been killed
            except Exception as error:  # whatever it is: the program must continue
                self.unknown = self.unknown or f"a process of the program could not be looked at: {error}"
            if self._thread is own_thread:
                self._looks_since = 0.0
            notices.answer(notice)

    def _look(self, call: str, pid: int, words: tuple[int, ...]) -> None:
        if call == "mmap":
            path = os.readlink(f"/proc/{pid}/fd/{words[4] & _LOW_HALF}")  # noqa: PTH115
            if self._has_begun and not path.startswith("/memfd:"):
                self._add_read(path, pid)
                self._add_opened(path, pid)
            return
        if call in _UNSEEN:
            self.unknown = self.unknown or f"it may have opened files unseen ({call}(2))"
            return
        is_at = call in {"execveat", "openat", "openat2"}
        path = self._notices.text(pid, words[1] if is_at else words[0])
        folder = words[0] if is_at else _AT_CWD
        if call.startswith("exec"):
            self._has_begun = True
            for program in _programs(_seen_from_here(path, pid, folder), pid):
                self._add_read(program, pid)
            if self._environment:
                self._add_started(_absolute(path, pid, folder), pid)
            if self._gives_up_privileges and not self.privileged:
                self.privileged = _if_privileged(_seen_from_here(path, pid, folder))
        elif self._has_begun:
            flags = {"open": words[1], "openat": words[2]}.get(call, 0)
            self._add_read(_seen_from_here(path, pid, folder), pid, flags=flags)
            if self._environment and not flags & os.O_WRONLY and _CODE.fullmatch(path):
                self._add_opened(_absolute(path, pid, folder), pid)

    def _add_read(self, path: str, pid: int, *, flags: int = 0) -> None:
        if self._others is None or flags & os.O_TRUNC:
            return
        if flags & os.O_WRONLY:
            self._others.appended_to(path)
            return
        what, name = self._others.opened(path)
        if name:
            self._add(what, name, pid)

    def _add_opened(self, path: str, pid: int) -> None:
        if path in self._known or not _is_file(path):
            return
        real = os.path.realpath(path)
        if f"{real}/".startswith(self._own):
            return  # looked at each time: the program can put a link in its place
        self._known.add(path)
        if not self._has(path, real):
            self._add("opened", real, pid)

    def _add_started(self, path: str, pid: int) -> None:
        """A program; or a script, and the program that the kernel starts for it."""
        for _ in range(_MOST_SCRIPTS):
            if not _is_file(path):
                return
            if not self._has(path, os.path.realpath(path)):
                self._add("started", path, pid)
            path = "" if path.startswith(_SYSTEM_PROGRAMS) else _interpreter_of(path)

    def _has(self, path: str, real: str) -> bool:
        return (
            path.startswith(self._environment)
            or real.startswith(self._environment)
            or f"{real}/".startswith(self._own)
            or (path.startswith(self._libraries) and not _INSTALLED.fullmatch(path))
        )

    def _add(self, what: str, path: str, pid: int) -> None:
        if len(self.found) < _MOST_FILES:
            self.found[(what, path, _program_of(pid))] = None
        else:
            self.unknown = f"it opened more than {_MOST_FILES:,} files of code elsewhere"


def _programs(path: str, pid: int) -> Iterator[str]:
    """A program; of a script also what the kernel starts for it, which no one opens."""
    for _ in range(_MOST_SCRIPTS):
        yield path
        interpreter = _interpreter_of(path) if _is_file(path) else ""
        if not interpreter:
            return
        path = _seen_from_here(interpreter, pid, _AT_CWD)


def _interpreter_of(path: str) -> str:
    """The program of a script's first line; "" for none, and where it may not be read."""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        first = file.readline(256)
        words = first[2:].split()
        return os.fsdecode(words[0]) if first.startswith(b"#!") and words else ""
    return ""


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116  (at each file of code that is opened)
    except OSError:
        return False


def _program_of(pid: int) -> str:
    """The program of a process; of a script of the system's, which its Python was started for, the script."""
    program = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115
    if _PYTHON.fullmatch(os.path.basename(program)):  # noqa: PTH119
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            words = os.fsdecode(file.read()).split("\0")
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        if words[0].startswith(_SYSTEM_PROGRAMS) and script.startswith(_SYSTEM_PROGRAMS):
            return script
    return program


def _absolute(path: str, pid: int, folder: int) -> str:
    """A path as a process names it, from a folder that it has open or works in."""
    if not path.startswith("/"):
        where = "cwd" if folder & _LOW_HALF == _AT_CWD else f"fd/{folder & _LOW_HALF}"
        path = os.path.join(os.readlink(f"/proc/{pid}/{where}"), path).rstrip("/")  # noqa: PTH115, PTH118
    if path.startswith("/proc/"):  # a link to what is open, or runs
        path = os.path.realpath(re.sub(r"^/proc/(?:thread-)?self/", f"/proc/{pid}/", path))
    return os.path.normpath(path)


def _if_privileged(path: str) -> str:
    """The path of a program that has privileges set which who starts it need not have; "" of any other."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
        is_set = bool(mode & (stat.S_ISUID | stat.S_ISGID)) or "security.capability" in os.listxattr(path)
    except OSError:
        return ""
    return os.path.realpath(path) if is_set else ""


def _seen_from_here(path: str, pid: int, folder: int) -> str:
    """A path as a process names it, with its links: the kernel follows them for this process alike."""
    if path.startswith("/proc/"):  # a link to what is open, or runs
        return re.sub(r"^/proc/(?:thread-)?self/", f"/proc/{pid}/", path)
    if path.startswith("/"):
        return path
    where = "cwd" if folder & _LOW_HALF == _AT_CWD else f"fd/{folder & _LOW_HALF}"
    return f"/proc/{pid}/{where}/{path}" if path else f"/proc/{pid}/{where}"
