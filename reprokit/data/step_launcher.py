"""Starts one step of a preparation inside its environment: seeds the generators, then runs the code.

A script of the standard library, copied next to the code, because the environment need not have reprokit.

    $ python step_launcher.py CALL.json INPUTS OUTPUT

CALL.json: ``script`` or ``function`` (``module:name``), ``inputs`` (names in the folder INPUTS),
``settings``, ``seed``, ``days_ahead``. A function is called as ``name(inputs, output, seed=…, **settings)``,
with a dict from name to path and the path of the output folder; a script is given ``--inputs DIR
--output DIR --seed N --settings JSON``. With ``days_ahead`` the clocks that Python reads are that far ahead.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import gc
import importlib
import json
import random
import runpy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

_DAY_S = 86_400


def main(call_file: str, inputs: str, output: str) -> None:
    """Run the step; its exceptions end the process as they are."""
    call = json.loads(Path(call_file).read_text(encoding="utf-8"))
    root = Path(call_file).resolve().parent
    sys.path[:0] = [str(root / "recipe"), str(root)]
    if call["days_ahead"]:
        _set_clock_ahead(call["days_ahead"])
    _seed(call["seed"])
    if call["script"]:
        words = ["--inputs", inputs, "--output", output, "--seed", str(call["seed"])]
        sys.argv = [call["script"], *words, "--settings", json.dumps(call["settings"], sort_keys=True)]
        runpy.run_path(str(root / "recipe" / call["script"]), run_name="__main__")
        return
    module, _, name = call["function"].partition(":")
    function = getattr(importlib.import_module(module), name)
    paths = {one: Path(inputs) / one for one in call["inputs"]}
    function(paths, Path(output), seed=call["seed"], **call["settings"])


def _seed(seed: int) -> None:
    random.seed(seed)
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        return
    numpy.random.seed(seed % 2**32)


def _set_clock_ahead(days: int) -> None:
    """Move what Python reads of the clock: a step that stamps the date gives another file then.

    The classes of ``datetime`` stay as they are, because extensions hold on to them. Clocks that do not
    tell the date, such as ``time.monotonic``, stay too.
    """
    clock = cast("Any", time)
    real_time, real_time_ns, real_gettime = clock.time, clock.time_ns, clock.clock_gettime
    real_gettime_ns, real_strftime, real_asctime = clock.clock_gettime_ns, clock.strftime, clock.asctime
    ahead = days * _DAY_S
    dated = {getattr(clock, name) for name in ("CLOCK_REALTIME", "CLOCK_TAI") if hasattr(clock, name)}
    at = cast("Any", dt.datetime.__dict__["fromtimestamp"])

    def now() -> float:
        return float(real_time() + ahead)

    def without_argument(real: Callable[[float], Any]) -> Callable[..., Any]:
        return lambda moment=None: real(now() if moment is None else moment)

    clock.time, clock.time_ns = now, lambda: real_time_ns() + ahead * 10**9
    clock.clock_gettime = lambda which: real_gettime(which) + (ahead if which in dated else 0)
    clock.clock_gettime_ns = lambda which: real_gettime_ns(which) + (ahead * 10**9 if which in dated else 0)
    for name in ("localtime", "gmtime", "ctime"):
        setattr(clock, name, without_argument(getattr(clock, name)))
    clock.strftime = lambda form, *moment: real_strftime(form, *(moment or (clock.localtime(),)))
    clock.asctime = lambda *moment: real_asctime(*(moment or (clock.localtime(),)))
    # That of `datetime` too. From Python 3.15 on it does not ask `time.time`.
    _replace_class_methods(dt.date, today=lambda cls: cls.fromtimestamp(now()))
    _replace_class_methods(
        dt.datetime,
        now=lambda cls, tz=None: at.__get__(None, cls)(now(), tz),
        utcnow=lambda cls: at.__get__(None, cls)(now(), dt.UTC).replace(tzinfo=None),
    )


def _replace_class_methods(kind: type, **methods: Callable[..., Any]) -> None:
    """Give a built-in class other class methods; it remains the same class, also for C code."""
    [own] = gc.get_referents(kind.__dict__)  # the dict behind the view that Python shows of it
    own.update({name: classmethod(method) for name, method in methods.items()})
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


if __name__ == "__main__":
    main(*sys.argv[1:])
