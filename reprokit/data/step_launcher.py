"""Starts one step of a preparation inside its environment: seeds the generators, then runs the code.

A script of the standard library, copied beside the code, because the environment need not have reprokit.

    $ python step_launcher.py CALL.json INPUTS OUTPUT

CALL.json: ``script`` or ``function`` (``module:name``), ``inputs`` (names in the folder INPUTS),
``settings``, ``seed``, ``days_ahead``. A function is called as ``name(inputs, output, seed=…, **settings)``,
with a dict from name to path and the path of the output folder; a script is given ``--inputs DIR
--output DIR --seed N --settings JSON``. With ``days_ahead`` the clocks that Python reads are that far ahead.
"""

from __future__ import annotations

import datetime as dt
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
    _seed(call["seed"])
    if call["days_ahead"]:
        _set_clock_ahead(call["days_ahead"])
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
    """Move what Python reads of the clock: a step that stamps the date gives another file then."""
    clock, calendar = cast("Any", time), cast("Any", dt)
    real_time, real_time_ns, real_strftime = clock.time, clock.time_ns, clock.strftime
    real_date, real_datetime, ahead = dt.date, dt.datetime, dt.timedelta(days=days)

    def now() -> float:
        return float(real_time() + days * _DAY_S)

    def without_argument(real: Callable[[float], Any]) -> Callable[..., Any]:
        return lambda moment=None: real(now() if moment is None else moment)

    clock.time, clock.time_ns = now, lambda: real_time_ns() + days * _DAY_S * 10**9
    for name in ("localtime", "gmtime", "ctime"):
        setattr(clock, name, without_argument(getattr(clock, name)))
    clock.strftime = lambda form, *moment: real_strftime(form, *(moment or (clock.localtime(),)))

    class Date(dt.date):
        @classmethod
        def today(cls) -> Any:
            return real_date.today() + ahead

    class DateTime(dt.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return real_datetime.now(tz) + ahead

        @classmethod
        def today(cls) -> Any:
            return real_datetime.today() + ahead

        @classmethod
        def utcnow(cls) -> Any:
            return real_datetime.now(dt.UTC).replace(tzinfo=None) + ahead

    calendar.date, calendar.datetime = Date, DateTime


if __name__ == "__main__":
    main(*sys.argv[1:])
