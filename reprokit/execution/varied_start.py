"""Starts a program with changed process attributes: those that are inherited and that no variable sets.

The program's own interpreter or the tool's runs it as a script (``python -I -S``); it imports the standard
library only. What cannot be changed ends it with exit code 125 and a message, so that no run is taken for
varied that was not.

    $ python -I -S varied_start.py --umask 077 --cores 1 -- python train.py

Options: ``--umask OCTAL,OCTAL`` (the first that it is not already), ``--cores N,N``, ``--fixed-addresses``
(no address randomisation), ``--no-network``, ``--processes N`` (so many process ids are used up first),
``--load CORE,CORE`` (a busy process on each, as long as the program runs), ``--folder PATH`` (created if
missing), ``--bursts CORE,CORE`` (busy now and then, with memory that takes the processors' caches),
``--nice N`` (so much less urgent), ``--set NAME=VALUE`` (a variable; what begins with ``+`` is put before the
value that is there, with a colon), ``--default NAME=VALUE`` (one that is not there yet), ``--from NAME``
(further options: JSON in a variable, which is removed),
``--locale NAME,NAME`` (``LC_ALL`` is the first that the system has and that differs from the program's own).
Source: personality(2), unshare(2), user_namespaces(7), sched_setaffinity(2), netdevice(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import locale
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

with contextlib.suppress(ModuleNotFoundError):  # Windows has none, and no run is made there
    import fcntl

CANNOT = 125
#: What the line on stderr begins with that says why.
REFUSED = "reprokit: this cannot be changed here: "
_ADDR_NO_RANDOMIZE = 0x0040000
_ASK_PERSONALITY = 0xFFFFFFFF
_CLONE_NEWNET, _CLONE_NEWUSER = 0x40000000, 0x10000000
_PR_SET_PDEATHSIG = 1
_CROWD_BYTES = 8 << 20
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def main(words: list[str]) -> int:
    """Change what the words say, then become the program, or look after it."""
    at = words.index("--")
    options, command = words[:at], words[at + 1 :]
    looked_after: dict[str, list[int]] = {}
    nice = 0
    while options:
        name = options.pop(0)
        try:
            if name in _PLAIN:
                _PLAIN[name]()
            elif name == "--nice":
                nice = int(options.pop(0))
            elif name == "--from":
                options = [*json.loads(os.environ.pop(options.pop(0), "[]")), *options]
            elif name in {"--processes", "--load", "--bursts"}:
                looked_after[name] = [int(word) for word in options.pop(0).split(",")]
            else:
                _WITH_VALUE[name](options.pop(0))
        except (OSError, ValueError) as error:
            sys.stderr.write(f"{REFUSED}{name}: {error}\n")
            return CANNOT
    if looked_after:
        (processes,) = looked_after.get("--processes", [0])
        busy = [(_compute, core) for core in looked_after.get("--load", [])]
        busy += [(_in_bursts, core) for core in looked_after.get("--bursts", [])]
        return _look_after(command, processes=processes, load=busy, nice=nice)
    os.nice(nice)
    return _become(command)


def _umask(octal: str) -> None:
    before = os.umask(0)
    wanted = next(
        (number for number in (int(word, 8) for word in octal.split(",")) if number != before), None
    )
    os.umask(before if wanted is None else wanted)
    if wanted is None:
        raise OSError(f"it is {before:03o} already")


def _cores(text: str) -> None:
    wanted = {int(word) for word in text.split(",")}
    if os.sched_getaffinity(0) == wanted:
        raise OSError(f"the program may run on {text} alone already")
    os.sched_setaffinity(0, wanted)
    if os.sched_getaffinity(0) != wanted:
        raise OSError(f"the system gave the cores {sorted(os.sched_getaffinity(0))}")


def _set(text: str) -> None:
    name, _, value = text.partition("=")
    if value.startswith("+"):
        value = ":".join(filter(None, [value[1:], os.environ.get(name, "")]))
    os.environ[name] = value


def _default(text: str) -> None:
    name, _, value = text.partition("=")
    os.environ.setdefault(name, value)


def _folder(path: str) -> None:
    Path(path).mkdir(parents=True, exist_ok=True)


def _locale(names: str) -> None:
    """The first that the system has; a program that sets its locale from LC_ALL would end with any other.

    One that gives what the program's own gives changes nothing.
    """
    own = _what_it_gives("")
    given = {name: _what_it_gives(name) for name in names.split(",")}
    there = [name for name, found in given.items() if found is not None]
    chosen = next((name for name in there if given[name] != own), None)
    if chosen is None:
        what = f"all give the same as the program's own: {', '.join(there)}" if there else "there are none"
        raise OSError(f"the system has no different one among {names}: {what}")
    os.environ["LC_ALL"] = chosen


def _what_it_gives(name: str) -> tuple[str, ...] | None:
    """Encoding, way of writing numbers, dates and names of days; None where the system has no such locale."""
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return None
    asked = (locale.CODESET, locale.RADIXCHAR, locale.THOUSEP, locale.D_T_FMT, locale.DAY_1)
    found = tuple(map(locale.nl_langinfo, asked))
    locale.setlocale(locale.LC_ALL, "C")
    return found


def _fixed_addresses() -> None:
    system = ctypes.CDLL(None, use_errno=True)
    now = system.personality(ctypes.c_ulong(_ASK_PERSONALITY))
    if now == -1 or system.personality(ctypes.c_ulong(now | _ADDR_NO_RANDOMIZE)) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if now & _ADDR_NO_RANDOMIZE:
        raise OSError("addresses are not randomised already")
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
    "--set": _set,
    "--default": _default,
}


def _look_after(
    command: list[str], *, processes: int, load: list[tuple[Callable[[], None], int]], nice: int
) -> int:
    """Start the program as a child; end with what it ends with."""
    for _ in range(processes):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    busy: list[int] = []
    try:
        for work, core in load:
            busy.append(_keep_busy(core, work))
    except OSError as error:
        _end(busy)
        sys.stderr.write(f"{REFUSED}--load: {error}\n")
        return CANNOT
    os.nice(nice)  # those that are busy are as urgent as before
    program = os.fork()
    if program == 0:
        _die_with_parent()
        os._exit(_become(command))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda caught, _frame: os.kill(program, caught))
    _, status = os.waitpid(program, 0)
    gone = [one for one in busy if os.waitpid(one, os.WNOHANG)[0]]
    _end([one for one in busy if one not in gone])
    if gone:
        sys.stderr.write(f"{REFUSED}--load: the busy process was ended early\n")
        return CANNOT
    ended = os.waitstatus_to_exitcode(status)
    if ended < 0:  # as if there were no one in between
        if -ended not in {signal.SIGKILL, signal.SIGSTOP}:  # which no one may handle
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    return ended


def _end(busy: list[int]) -> None:
    for one in busy:
        os.kill(one, signal.SIGKILL)
        os.waitpid(one, 0)


def _keep_busy(core: int, work: Callable[[], None]) -> int:
    """A busy process there; an ``OSError`` where that core cannot be used."""
    ready, tell = os.pipe()
    busy = os.fork()
    if busy == 0:
        _die_with_parent()
        try:
            os.sched_setaffinity(0, {core})
        except OSError:
            os._exit(CANNOT)
        os.write(tell, b"1")
        os.close(tell)
        work()
    os.close(tell)
    told = os.read(ready, 1)
    os.close(ready)
    if not told:
        os.waitpid(busy, 0)
        raise OSError(f"no process may run on core {core}")
    return busy


def _compute() -> None:
    number = 1
    while True:
        number = number * 1_103_515_245 % 2_147_483_647


def _in_bursts() -> None:
    memory = bytearray(_CROWD_BYTES)
    while True:
        busy, idle = os.urandom(2)
        until = time.monotonic() + 0.005 + busy / 2500
        while time.monotonic() < until:
            memory[:] = memory[::-1]
        time.sleep(idle / 5000)


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
