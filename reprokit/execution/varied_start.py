"""Starts a program with changed process attributes: those that are inherited and that no variable sets.

The program's own interpreter or the tool's runs it as a script (``python -I -S``); it imports the standard
library only. What cannot be changed ends it with exit code 125 and a message, so that no run is taken for
varied that was not.

    $ python -I -S varied_start.py --umask 077 --cores 1 -- python train.py

Options: ``--umask OCTAL``, ``--cores N,N``, ``--fixed-addresses`` (no address randomisation),
``--no-network``, ``--processes N`` (so many process ids are used up first), ``--load CORE`` (a busy
process there, as long as the program runs), ``--folder PATH`` (created if missing), ``--locale
NAME,NAME`` (``LC_ALL`` is the first that the system has).
Source: personality(2), unshare(2), user_namespaces(7), sched_setaffinity(2), netdevice(7).
"""

from __future__ import annotations

import ctypes
import fcntl
import locale
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path

CANNOT = 125
_ADDR_NO_RANDOMIZE = 0x0040000
_ASK_PERSONALITY = 0xFFFFFFFF
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_PR_SET_PDEATHSIG = 1
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def main(words: list[str]) -> int:
    """Change what the words say, then become the program, or look after it."""
    at = words.index("--")
    options, command = words[:at], words[at + 1 :]
    looked_after: dict[str, int] = {}
    while options:
        name = options.pop(0)
        try:
            if name in _PLAIN:
                _PLAIN[name]()
            elif name in {"--processes", "--load"}:
                looked_after[name] = int(options.pop(0))
            else:
                _WITH_VALUE[name](options.pop(0))
        except (OSError, ValueError) as error:
            sys.stderr.write(f"reprokit: this cannot be changed here: {name}: {error}\n")
            return CANNOT
    if looked_after:
        return _look_after(
            command, processes=looked_after.get("--processes", 0), load=looked_after.get("--load")
        )
    return _become(command)


def _umask(octal: str) -> None:
    os.umask(int(octal, 8))


def _cores(text: str) -> None:
    wanted = {int(word) for word in text.split(",")}
    os.sched_setaffinity(0, wanted)
    if os.sched_getaffinity(0) != wanted:
        raise OSError(f"the system gave the cores {sorted(os.sched_getaffinity(0))}")


def _folder(path: str) -> None:
    Path(path).mkdir(parents=True, exist_ok=True)


def _locale(names: str) -> None:
    """The first that the system has; a program that sets its locale from LC_ALL would end with any other."""
    for name in names.split(","):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        os.environ["LC_ALL"] = name
        return
    raise OSError(f"the system has none of {names}")


def _fixed_addresses() -> None:
    system = ctypes.CDLL(None, use_errno=True)
    now = system.personality(ctypes.c_ulong(_ASK_PERSONALITY))
    if now == -1 or system.personality(ctypes.c_ulong(now | _ADDR_NO_RANDOMIZE)) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if not system.personality(ctypes.c_ulong(_ASK_PERSONALITY)) & _ADDR_NO_RANDOMIZE:
        raise OSError("the kernel did not take it")


def _no_network() -> None:
    """A network of its own, a loopback alone; in a user's own namespace where root is needed."""
    system = ctypes.CDLL(None, use_errno=True)
    if system.unshare(_CLONE_NEWNET) == 0:
        _loopback()
        return
    uid, gid = os.getuid(), os.getgid()
    if system.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
    _loopback()


def _loopback() -> None:
    """Programs talk to themselves over 127.0.0.1: ranks, managers, servers of their own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))


_PLAIN: dict[str, Callable[[], None]] = {"--fixed-addresses": _fixed_addresses, "--no-network": _no_network}
_WITH_VALUE: dict[str, Callable[[str], None]] = {
    "--umask": _umask,
    "--cores": _cores,
    "--folder": _folder,
    "--locale": _locale,
}


def _look_after(command: list[str], *, processes: int, load: int | None) -> int:
    """Start the program as a child; end with what it ends with."""
    for _ in range(processes):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    busy = _keep_busy(load) if load is not None else None
    program = os.fork()
    if program == 0:
        _die_with_parent()
        os._exit(_become(command))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda caught, _frame: os.kill(program, caught))
    _, status = os.waitpid(program, 0)
    if busy is not None:
        os.kill(busy, signal.SIGKILL)
        os.waitpid(busy, 0)
    ended = os.waitstatus_to_exitcode(status)
    if ended < 0:  # as if there were nobody in between
        if -ended not in {signal.SIGKILL, signal.SIGSTOP}:  # which nobody may handle
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    return ended


def _keep_busy(core: int) -> int:
    busy = os.fork()
    if busy == 0:
        _die_with_parent()
        os.sched_setaffinity(0, {core})
        number = 1
        while True:
            number = number * 1_103_515_245 % 2_147_483_647
    return busy


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _become(command: list[str]) -> int:
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"reprokit: {command[0]}: {error}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
