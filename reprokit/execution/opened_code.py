"""Which code a program and all that it starts use from elsewhere, seen from outside; for ``local_guard``.

The kernel stops each of these processes when it starts a program, maps a file to be run or opens one to be
read, tells the guard, and lets it continue: nothing is refused or changed. No Python need help with that, so
``-S -I``, an empty environment or another interpreter hide nothing. The guard alone imports it: standard
library only.
Source: seccomp(2), seccomp_unotify(2); Linux 5.5.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import os
import platform
import re
import select
import socket
import stat
import struct
import threading
from collections.abc import Iterable, Mapping

with contextlib.suppress(ModuleNotFoundError):  # Windows has none, and no run is made there
    import fcntl

#: Of an architecture: its number in the kernel, that of seccomp(2), those of the calls that are told of.
_CALLS: Mapping[str, tuple[int, int, Mapping[str, int]]] = {
    "x86_64": (
        0xC000003E,
        317,
        {"execve": 59, "execveat": 322, "open": 2, "openat": 257, "openat2": 437, "mmap": 9},
    ),
    "aarch64": (0xC00000B7, 277, {"execve": 221, "execveat": 281, "openat": 56, "openat2": 437, "mmap": 222}),
}
_MACHINE = platform.machine()
_CANNOT = "this system does not tell which files a program opens (seccomp_unotify(2), Linux 5.5)"

_SET_FILTER, _NO_NEW_PRIVS = 1, 38
_SPECULATES, _LISTENER, _UNDISTURBED = 1 << 2, 1 << 3, 1 << 5
_ALLOW, _TELL = 0x7FFF0000, 0x7FC00000
_RECEIVE, _ANSWER, _GO_ON = 0xC0502100, 0xC0182101, 1
#: Steps of classic BPF: load a word, skip some where it is a number or has one of some bits, return.
_LOAD, _EQUALS, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_NOT_TO_READ = os.O_WRONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)
_EXECUTABLE, _ANONYMOUS = 4, 0x20
_AT_CWD, _LOW_HALF = 0xFFFFFF9C, 0xFFFFFFFF

_CODE = re.compile(r".+\.(?:py|pyc|pyw|pyz|pth|zip|egg|whl|so[\d.]*)", re.DOTALL)
_INSTALLED = re.compile(r".*/(?:site|dist)-packages/.*", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?")
_SYSTEM_PROGRAMS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
_MOST_FILES, _MOST_SCRIPTS, _LOOK_UP_MS, _LAST_WAIT_S = 20_000, 4, 100, 5


def tell_of_code(to: socket.socket) -> None:
    """From now on the kernel tells of this process and of all that it starts.

    Who is informed gets a descriptor through the socket; no descriptor where this kernel cannot.
    """
    listener = _listener() if _MACHINE in _CALLS else -1
    if listener < 0:
        to.send(b"-")
        return
    to.sendmsg([b"+"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
    os.close(listener)


def _listener() -> int:
    system = ctypes.CDLL(None, use_errno=True)
    steps = _filter()
    held = ctypes.create_string_buffer(steps)
    order = struct.pack("@HxxxxxxP", len(steps) // 8, ctypes.addressof(held))
    system.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    for undisturbed in (_UNDISTURBED, 0):  # a signal waits for the answer, from Linux 5.19 on
        flags = _LISTENER | _SPECULATES | undisturbed
        listener = int(system.syscall(_CALLS[_MACHINE][1], _SET_FILTER, flags, order))
        if listener >= 0:
            return listener
    return -1


def _filter() -> bytes:
    """What the kernel runs at each system call. A step: code, steps to skip if so, if not, number."""
    architecture, _, calls = _CALLS[_MACHINE]
    allow, tell = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _TELL)
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUALS, 1, 0, architecture), allow, (_LOAD, 0, 0, _NUMBER)]
    only: dict[str, list[tuple[int, int, int, int]]] = {
        "open": [_argument(1), (_ANY_BIT, 0, 1, _NOT_TO_READ), allow],
        "openat": [_argument(2), (_ANY_BIT, 0, 1, _NOT_TO_READ), allow],
        "mmap": [
            *[_argument(2), (_ANY_BIT, 1, 0, _EXECUTABLE), allow],
            *[_argument(3), (_ANY_BIT, 0, 1, _ANONYMOUS), allow],
        ],
    }
    for name, number in calls.items():
        inside = [*only.get(name, []), tell]
        steps += [(_EQUALS, 0, len(inside), number), *inside]
    return b"".join(struct.pack("@HBBI", *step) for step in [*steps, allow])


def _argument(number: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * number)  # its low half


class OpenedCode:
    """Listens until the program and all that it started have ended.

    Args:
        environment: Folders that are compared with what was installed: what they hold is the program's, and
            so is what a link in them leads to.
        libraries: Folders of the library of its Python, likewise; but packages in them are not its own.
        own: Other files and folders of the program, whose links may lead elsewhere.
        others: Folders of which every file counts that is opened to be read, whatever it holds.

    Attributes:
        found: Of what lies elsewhere, what was done (``started``, ``opened``, or ``read`` below ``others``),
            path, and by which program.
        unknown: Why there can be more; "" where all was seen.
    """

    def __init__(
        self,
        *,
        environment: Iterable[str],
        libraries: Iterable[str],
        own: Iterable[str],
        others: Iterable[str] = (),
    ) -> None:
        self._environment = tuple(f"{folder}/" for folder in environment)
        self._libraries = tuple(f"{folder}/" for folder in libraries)
        self._own = tuple(f"{os.path.realpath(path)}/" for path in own)
        self._others = tuple(f"{os.path.realpath(folder)}/" for folder in others)
        self._known: set[str] = set()
        self._read: set[str] = set()
        self._has_begun = self._has_ended = False
        self._listener = -1
        self._thread: threading.Thread | None = None
        self.found: dict[tuple[str, str, str], None] = {}
        self.unknown = ""

    def listen(self, to: socket.socket) -> None:
        """Begin, with what the child sends before it becomes the program."""
        words, descriptors, _, _ = to.recvmsg(1, socket.CMSG_SPACE(4))
        if words and descriptors:
            self._listener = struct.unpack("i", descriptors[0][2][:4])[0]
            self._thread = threading.Thread(target=self._serve, daemon=True)
            self._thread.start()
        elif words:  # none: it ended before it came so far
            self.unknown = _CANNOT

    def end(self) -> None:
        """Stop listening, once all of its processes have ended."""
        self._has_ended = True
        if self._thread is not None:  # nothing calls any more: what it still waits for does not come
            self._thread.join(_LAST_WAIT_S)
            if self._thread.is_alive():
                self.unknown = self.unknown or "the kernel's last notice was not answered in time"

    def _serve(self) -> None:
        waiting = select.poll()
        waiting.register(self._listener, select.POLLIN)
        names = {number: name for name, number in _CALLS[_MACHINE][2].items()}
        while not self._has_ended:
            for _, event in waiting.poll(_LOOK_UP_MS):
                if not event & select.POLLIN:
                    return
                self._hear(names)

    def _hear(self, names: Mapping[int, str]) -> None:
        notice = bytearray(80)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notice)
        except OSError:
            return  # who called has been killed
        identity, pid, _, number = struct.unpack_from("=QIIi", notice)
        try:
            self._look(names[number], pid, struct.unpack_from("=6Q", notice, 32))
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has been killed
        except Exception as error:  # whatever it is: the program must continue
            self.unknown = self.unknown or f"a process of the program could not be looked at: {error}"
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._listener, _ANSWER, struct.pack("=QqiI", identity, 0, 0, _GO_ON))

    def _look(self, call: str, pid: int, words: tuple[int, ...]) -> None:
        if call == "mmap":
            path = os.readlink(f"/proc/{pid}/fd/{words[4] & _LOW_HALF}")  # noqa: PTH115
            if self._has_begun and not path.startswith("/memfd:"):
                self._add_read(path, pid)
                self._add_opened(path, pid)
            return
        is_at = call in {"execveat", "openat", "openat2"}
        path = _text(pid, words[1] if is_at else words[0])
        folder = words[0] if is_at else _AT_CWD
        if call.startswith("exec"):
            self._has_begun = True
            self._add_read(_absolute(path, pid, folder), pid)
            self._add_started(_absolute(path, pid, folder), pid)
        elif self._has_begun and (self._others or _CODE.fullmatch(path)):
            self._add_read(_absolute(path, pid, folder), pid)
            if _CODE.fullmatch(path):
                self._add_opened(_absolute(path, pid, folder), pid)

    def _add_read(self, path: str, pid: int) -> None:
        real = os.path.realpath(path) if self._others else ""
        if self._others and real.startswith(self._others) and real not in self._read and _is_file(real):
            self._read.add(real)
            self._add("read", real, pid)

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
            with open(path, "rb") as file:  # noqa: PTH123
                first = file.readline(256)
            words = first[2:].split()
            if path.startswith(_SYSTEM_PROGRAMS) or not first.startswith(b"#!") or not words:
                return
            path = os.fsdecode(words[0])

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


def _text(pid: int, address: int) -> str:
    """The text at an address of a process, which ends with a zero."""
    memory, found = os.open(f"/proc/{pid}/mem", os.O_RDONLY), b""
    try:
        while b"\0" not in found and len(found) < os.pathconf("/", "PC_PATH_MAX"):
            here = address + len(found)
            found += os.pread(memory, min(256, 4096 - here % 4096), here)  # the next page need not be there
    except OSError as error:
        if error.errno != errno.EIO:  # an address of nothing, which the call does not take either
            raise
    finally:
        os.close(memory)
    return os.fsdecode(found.partition(b"\0")[0])
