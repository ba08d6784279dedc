"""What the kernel tells of a process and of all that it starts: each file that is opened, mapped or started.

It stops each of these processes when it starts a program, maps a file to be run, opens one to be read or
calls what can open files unseen; it tells who listens, and lets the process continue when that one has
answered: nothing is refused or changed. No Python need help with that, so ``-S -I``, an empty environment or
another interpreter hide nothing. For ``local_guard``, which alone imports it: standard library only.
Source: seccomp(2), seccomp_unotify(2), process_vm_readv(2); Linux 5.5.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import os
import select
import socket
import struct
import sys
from collections.abc import Mapping
from typing import NamedTuple

with contextlib.suppress(ModuleNotFoundError):  # Windows has none, and no run is made there
    import fcntl

#: Of an architecture: its number in the kernel, that of seccomp(2), those of the calls that are told of.
_CALLS: Mapping[str, tuple[int, int, Mapping[str, int]]] = {
    "x86_64": (
        0xC000003E,
        317,
        {
            "execve": 59,
            "execveat": 322,
            "open": 2,
            "openat": 257,
            "openat2": 437,
            "mmap": 9,
            "io_uring_setup": 425,
            "open_by_handle_at": 304,
        },
    ),
    "aarch64": (
        0xC00000B7,
        277,
        {
            "execve": 221,
            "execveat": 281,
            "openat": 56,
            "openat2": 437,
            "mmap": 222,
            "io_uring_setup": 425,
            "open_by_handle_at": 265,
        },
    ),
}
_MACHINE = os.uname().machine if sys.platform == "linux" else ""
CANNOT = "this system does not tell which files a program opens (seccomp_unotify(2), Linux 5.5)"

_SET_FILTER, _NO_NEW_PRIVS = 1, 38
_SPECULATES, _LISTENER, _UNDISTURBED = 1 << 2, 1 << 3, 1 << 5
_ALLOW, _TELL = 0x7FFF0000, 0x7FC00000
_RECEIVE, _ANSWER, _GO_ON = 0xC0502100, 0xC0182101, 1
_SET_FLAGS, _WAKE_AT_ONCE = 0x40082104, 1
#: Steps of classic BPF: load a word, skip some where it is a number or has one of some bits, return.
_LOAD, _EQUALS, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_NOT_TO_READ = os.O_WRONLY | getattr(os, "O_PATH", 0)
_EXECUTABLE, _ANONYMOUS = 4, 0x20
_PAGE, _PIECE, _LONGEST = 4096, 256, 4096


def tell(to: socket.socket, *, of_mapped: bool, of_folders: bool) -> None:
    """From now on the kernel tells of this process and of all that it starts.

    Args:
        to: Who is informed gets a descriptor through it; none where this kernel cannot.
        of_mapped: Whether it tells of files that are mapped to be run, too.
        of_folders: Whether it tells of folders that are opened as such, too.
    """
    steps = _filter(of_mapped=of_mapped, of_folders=of_folders) if _MACHINE in _CALLS else b""
    listener, word = _listener(steps) if steps else (-1, b"-")
    if listener < 0:
        to.send(b"-")
        return
    to.sendmsg([word], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
    os.close(listener)


def _listener(steps: bytes) -> tuple[int, bytes]:
    """A descriptor; and ``+`` where no program gets more privileges from now on, else ``=``."""
    system = ctypes.CDLL(None, use_errno=True)
    held = ctypes.create_string_buffer(steps)
    order = struct.pack("@HxxxxxxP", len(steps) // 8, ctypes.addressof(held))
    for word in (b"=", b"+"):  # who may administer the system need not give them up
        if word == b"+":
            system.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        for undisturbed in (_UNDISTURBED, 0):  # a signal waits for the answer, from Linux 5.19 on
            flags = _LISTENER | _SPECULATES | undisturbed
            listener = int(system.syscall(_CALLS[_MACHINE][1], _SET_FILTER, flags, order))
            if listener >= 0:
                return listener, word
    return -1, b"-"


def _filter(*, of_mapped: bool, of_folders: bool) -> bytes:
    """What the kernel runs at each system call. A step: code, steps to skip if so, if not, number."""
    architecture, _, calls = _CALLS[_MACHINE]
    passed_over = _NOT_TO_READ | (0 if of_folders else _FOLDER)
    allow, tell_of = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _TELL)
    steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUALS, 1, 0, architecture), allow, (_LOAD, 0, 0, _NUMBER)]
    # who appends to a file changes its times before it reads it
    unless = [(_ANY_BIT, 2, 0, os.O_APPEND), (_ANY_BIT, 0, 1, passed_over), allow]
    only: dict[str, list[tuple[int, int, int, int]]] = {
        "open": [_argument(1), *unless],
        "openat": [_argument(2), *unless],
        "mmap": [
            *[_argument(2), (_ANY_BIT, 1, 0, _EXECUTABLE), allow],
            *[_argument(3), (_ANY_BIT, 0, 1, _ANONYMOUS), allow],
        ],
    }
    for name, number in calls.items():
        if name != "mmap" or of_mapped:
            inside = [*only.get(name, []), tell_of]
            steps += [(_EQUALS, 0, len(inside), number), *inside]
    return b"".join(struct.pack("@HBBI", *step) for step in [*steps, allow])


def _argument(number: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * number)  # its low half


class Notice(NamedTuple):
    """A call that a process waits in, until it is answered."""

    identity: int
    call: str
    pid: int  # of the thread
    words: tuple[int, ...]  # its six arguments


class Notices:
    """What the kernel tells, one by one.

    Args:
        listener: The descriptor that ``tell`` sent.
    """

    def __init__(self, listener: int) -> None:
        self._listener = listener
        self._names = {number: name for name, number in _CALLS[_MACHINE][2].items()}
        self._waiting = select.poll()
        self._waiting.register(listener, select.POLLIN)
        self._memory = _Memory()
        with contextlib.suppress(OSError):  # from Linux 6.6 on: the caller's core goes to who is told
            fcntl.ioctl(listener, _SET_FLAGS, struct.pack("=Q", _WAKE_AT_ONCE))

    def next(self, *, within_ms: int) -> Notice | None:
        """The next one; None where there is none in that time.

        Raises:
            EOFError: None will come: all that was started has ended.
        """
        for _, event in self._waiting.poll(within_ms):
            if not event & select.POLLIN:
                raise EOFError
            told = bytearray(80)
            try:
                fcntl.ioctl(self._listener, _RECEIVE, told)
            except OSError:
                return None  # who called has been killed
            identity, pid, _, number = struct.unpack_from("=QIIi", told)
            return Notice(identity, self._names[number], pid, struct.unpack_from("=6Q", told, 32))
        return None

    def answer(self, notice: Notice) -> None:
        """Let the process go on."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._listener, _ANSWER, struct.pack("=QqiI", notice.identity, 0, 0, _GO_ON))

    def text(self, pid: int, address: int) -> str:
        """The text at an address of a process, which ends with a zero."""
        found = b""
        while len(found) < _LONGEST:
            here = address + len(found)
            size = min(_PIECE, _PAGE - here % _PAGE)  # the next page need not be there
            piece = self._memory.read(pid, here, size)
            text, end, _ = piece.partition(b"\0")
            found += text
            if end or not piece:
                break
        return os.fsdecode(found)


_Piece = ctypes.c_size_t * 2  # its address and length


class _Memory:
    """The memory of other processes."""

    def __init__(self) -> None:
        self._read = ctypes.CDLL(None, use_errno=True).process_vm_readv
        piece = (ctypes.c_void_p, ctypes.c_ulong)
        self._read.argtypes = [ctypes.c_int, *piece, *piece, ctypes.c_ulong]
        self._read.restype = ctypes.c_ssize_t

    def read(self, pid: int, address: int, size: int) -> bytes:
        """So many bytes; none where nothing is there, which the call does not take either.

        Raises:
            OSError: The process has ended, or may not be looked at.
        """
        held = ctypes.create_string_buffer(size)
        here, there = _Piece(ctypes.addressof(held), size), _Piece(address, size)
        count = self._read(pid, here, 1, there, 1, 0)
        if count >= 0:
            return held.raw[:count]
        code = ctypes.get_errno()
        if code == errno.EFAULT:
            return b""
        if code not in {errno.ENOSYS, errno.EPERM}:  # what confines a container may refuse this call alone
            raise OSError(code, os.strerror(code))
        memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        try:
            return os.pread(memory, size, address)
        finally:
            os.close(memory)
