"""The conditions of an instrumented run, its time limit, and its results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.diagnosis import HookTrace
from reprokit.harness.diagnosing.taps.preloaded import Taps

#: A run that takes longer than this and so many times the first one is stopped: it hangs.
_LEAST_LIMIT_S, _TIMES_THE_FIRST = 60.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of a run.

    Attributes:
        pins: Call sites that get the values of the run ``like``; ``*`` for all of them.
        like: The run whose values and hash seed are replayed, or None.
        hash_seed: Whether Python's hash seed is that run's too.
        fresh: Whether files that earlier runs left are restored to before the first run.
        serial: Call sites whose threads take turns; ``*`` for all of them.
        level: What is recorded: ``light``, ``loops`` or ``deep``.
        start: What to change of what a process inherits: words for ``execution/varied_start.py``.
        command: What is run in the program's place; empty for the program itself.
        progress: Which events the hook digests; empty for those of the run ``like``.
        seed: Another seed than the program's own, or None.
        short: Whether it may be cut after the first difference.
        calls: What the watch of calls is to do, which then is the only watch; empty for the usual one.
        taps: The native taps to preload, or None.
        state: What the watch of updates is to do; empty where it is not loaded.
    """

    pins: tuple[str, ...] = ()
    like: InstrumentedRun | None = None
    hash_seed: bool = False
    fresh: bool = False
    vary: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()
    level: str = "light"
    environment: Mapping[str, str] = field(default_factory=dict)
    run_folder: str = "run"
    start: tuple[str, ...] = ()
    cpu: str = ""
    words: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    progress: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    short: bool = False
    calls: Mapping[str, Any] = field(default_factory=dict)
    taps: Taps | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentedRun:
    """A finished run, and what it left.

    Attributes:
        folder: Its folder: ``output/``, ``stdout.log``, ``stderr.log``.
        traced: The hook's folder.
        key: What its random values were drawn from.
        hash_seed: Python's hash seed, or what the caller's environment says.
        trouble: Why it has no result; "" where it finished.
        limit_s: How long it could take; None for as long as it liked.
        overdue: Whether it was stopped at that limit.
        places: Its paths as the program saw them, with what stands for each where texts are compared.
        cut: Whether it was stopped after the first difference.
        span: When it was made, seconds since the epoch.
    """

    label: str
    folder: Path
    trace: HookTrace
    traced: Path
    key: str
    hash_seed: str
    trouble: str
    duration_s: float
    limit_s: float | None = None
    overdue: bool = False
    places: Mapping[str, str] = field(default_factory=dict)
    span: tuple[float, float] = (0.0, 0.0)
    cut: bool = False


def limit_of(first_s: float) -> float:
    """How long a run may take where the first one took so long, seconds."""
    return max(_LEAST_LIMIT_S, _TIMES_THE_FIRST * first_s)
