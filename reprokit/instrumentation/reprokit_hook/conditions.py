"""The conditions that a process finds when it starts: what shows that a variation is in force in it.

Read before anything is wrapped. What cannot be read here is None: a variation of it is not shown.
"""

from __future__ import annotations

import _locale
import ctypes
import mmap
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

_ADDR_NO_RANDOMIZE, _ASK_PERSONALITY = 0x0040000, 0xFFFFFFFF
#: More than the allocator keeps ready of one size, so that it is filled again.
_FRESH_BYTES = 20_000
_SAMPLE = ("I", "i", "a", "B", "z", "\u00e4")
#: The leaves of CPUID that hold the name of the CPU, and its features.
_NAME, _FEATURES = (0x80000002, 0x80000003, 0x80000004), (1, 7)
# void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t found[4]), System V calling convention
_CPUID = bytes.fromhex("53 89f8 89f1 4989d0 0fa2 418900 41895804 41894808 4189500c 5b c3")


def seen(*, variables: Iterable[str], varies: Iterable[str], output: str) -> dict[str, Any]:
    """The conditions of this process.

    Args:
        variables: Names of the environment variables to record.
        varies: What the hook varies.
        output: The run's own folder.
    """
    read: dict[str, Callable[[], Any]] = {
        "umask": _umask,
        "cores": lambda: sorted(os.sched_getaffinity(0)),
        "locale": _locale_in_force,
        "utc_offset_s": lambda: time.localtime().tm_gmtoff,
        "interfaces": _interfaces,
        "process_id": os.getpid,
        "hash": lambda: hash("reprokit"),
        "fixed_addresses": _fixed_addresses,
        "fresh_memory": _fresh_memory,
        "cpu": cpu,
    }
    found: dict[str, Any] = dict.fromkeys(read)
    for name, ask in read.items():
        with suppress(Exception):  # another system, or one that forbids it: it is not known
            found[name] = ask()
    told = {name: os.environ.get(name) for name in {"LC_ALL", *variables}}
    return {**found, "variables": told, "varies": sorted(varies), "output": output}


def _umask() -> str:
    now = os.umask(0o077)
    os.umask(now)
    return f"{now:03o}"


def _locale_in_force() -> list[str]:
    """What a program gets that asks for the user's locale: encoding, numbers, sorting, names of days."""
    before = _locale.setlocale(_locale.LC_ALL, None)
    try:
        _locale.setlocale(_locale.LC_ALL, "")
        numbers = _locale.localeconv()
        return [
            _locale.nl_langinfo(_locale.CODESET),
            f"{numbers['decimal_point']} {numbers['thousands_sep']} {numbers['grouping']}",
            " ".join(sorted(_SAMPLE, key=_sorting_key)),
            _locale.nl_langinfo(_locale.DAY_1),
            _locale.nl_langinfo(_locale.D_T_FMT),
        ]
    finally:
        _locale.setlocale(_locale.LC_ALL, before)


def _sorting_key(text: str) -> str:
    try:
        return _locale.strxfrm(text)
    except (OSError, ValueError):  # a letter that the encoding has not
        return text


def _interfaces() -> list[str]:
    with open("/proc/self/net/dev", encoding="ascii") as stream:
        return sorted(line.partition(":")[0].strip() for line in stream if ":" in line)


def _fixed_addresses() -> bool:
    now = ctypes.CDLL(None).personality(ctypes.c_ulong(_ASK_PERSONALITY))
    return bool(now & _ADDR_NO_RANDOMIZE) if now != -1 else None  # type: ignore[return-value]


def _fresh_memory() -> int | None:
    """The byte that freshly allocated memory is filled with; None where it is filled with no single one."""
    system = ctypes.CDLL(None)
    system.malloc.restype, system.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    system.free.argtypes = [ctypes.c_void_p]
    place = system.malloc(_FRESH_BYTES)
    held = set(ctypes.string_at(place, _FRESH_BYTES))
    system.free(place)
    return held.pop() if len(held) == 1 else None


def cpu() -> str | None:
    """The CPU by the name and the features that it gives of itself, an emulated one too."""
    if os.uname().machine not in {"x86_64", "AMD64"}:
        return None
    room = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    room.write(_CPUID)
    start = ctypes.c_char.from_buffer(room)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
    cpuid = kind(ctypes.addressof(start))

    def leaf(number: int) -> bytes:
        found = (ctypes.c_uint32 * 4)()
        cpuid(number, 0, ctypes.addressof(found))
        return bytes(found)

    name = b"".join(map(leaf, _NAME)).split(b"\0")[0].decode("ascii", "replace").strip()
    # without the number of the core (leaf 1, upper byte of ebx), which is another one at each start
    features = leaf(_FEATURES[0])[8:].hex() + leaf(_FEATURES[1])[4:].hex()
    return f"{name} {features}"
