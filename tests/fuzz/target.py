"""What a fuzzer is: inputs, the parser with an independent reader next to it, limits of time and memory."""

from __future__ import annotations

import copy
import json
import resource
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from reprokit.errors import ReprokitError

#: Of one input: seconds of processor time, and memory beyond what the fuzzer itself holds.
MAX_CPU_S = 10.0
MAX_MEMORY_BYTES = 3 << 30
_EXAMPLES_A_ROUND = 500

TOKENS = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\n",
    b"\r",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"-",
)
NUMBERS = (b"-1", b"0", b"1e999", b"NaN", b"Infinity", b"18446744073709551616", b"1" * 5000, b"-0.0", b"1_0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One parser.

    Attributes:
        inputs: What is given to ``check``.
        check: Has an input read, in an empty folder. It may raise a ``ReprokitError``; an
            ``AssertionError`` where the independent reader reads something else.
        slice_examples: How many inputs `make test` tries.
    """

    name: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any, Path], None]
    slice_examples: int = 60


@dataclass(slots=True, kw_only=True)
class Tally:
    """What was tried: inputs, those of them that were read, the slowest in seconds of processor time."""

    inputs: int = 0
    read: int = 0
    slowest_s: float = 0.0


class _TooSlowError(BaseException):
    """No parser may catch it."""


def fuzz(target: Target, *, seconds: float) -> Tally:
    """Try inputs for so long; the first fault is raised with the smallest input that has it."""
    tally, end, failed = Tally(), time.monotonic() + seconds, False

    def one(given_input: Any) -> None:
        nonlocal failed
        if (
            time.monotonic() < end or failed
        ):  # an input that has failed must fail again while it is made smaller
            try:
                try_one(target, given_input, tally=tally)
            except BaseException:
                failed = True
                raise

    number = 0
    how = settings(
        max_examples=_EXAMPLES_A_ROUND,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    while time.monotonic() < end:
        seed(number)(how(given(target.inputs)(one)))()
        number += 1
    return tally


def try_one(target: Target, given_input: Any, *, tally: Tally) -> None:
    """Have one input read; an ``AssertionError`` or the parser's own exception where it must not end so."""
    begun = time.process_time()
    tally.inputs += 1
    with tempfile.TemporaryDirectory(prefix="reprokit-fuzz-") as folder:
        try:
            with _limited():
                target.check(given_input, Path(folder))
            tally.read += 1
        except ReprokitError as error:
            if isinstance(error.__cause__, MemoryError):
                raise AssertionError("more memory than any input may take") from error
            str(error).encode("utf-8", "surrogatepass")
        except _TooSlowError:
            raise AssertionError(f"took more than {MAX_CPU_S:g} s of processor time") from None
    tally.slowest_s = max(tally.slowest_s, time.process_time() - begun)


def limit_memory() -> None:
    """Let this process take so much more memory than it has now; more is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MAX_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextmanager
def _limited() -> Iterator[None]:
    def stop(_number: int, _frame: Any) -> None:
        raise _TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MAX_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes], tokens: Sequence[bytes] = (), most: int = 5) -> bytes:
    """One of some good files with a few changes: bytes changed, cut out, put in, repeated, cut off."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, most))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(1, 16))
        rest = data[at + length :]
        piece = draw(
            st.sampled_from([*tokens, *TOKENS, *NUMBERS])
            | st.binary(max_size=8)
            | st.sampled_from([b"", data[at : at + length] * 2, data[at : at + length] * 70])
        )
        put_in, cut_off = draw(st.booleans()), draw(st.integers(0, 9)) == 0
        data = data[:at] + piece + (b"" if cut_off else data[at:] if put_in else rest)
    return data


#: In place of any value of a JSON file.
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 2**63, 2**64, 10**400, 1.5, -0.0, 1e308),
        *("", "x", "../..", "a" * 3000, "1" * 400, "\ud800", "\0", "NaN"),
        *("sha256:" + "0" * 64, "2026-01-01T00:00:00+00:00"),
        *([], {}, [[]], [None], {"": ""}, {"x": {}}),
    ]
) | st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda one: st.lists(one, max_size=3))


@st.composite
def mutated_json(draw: st.DrawFn, values: Sequence[Any], most: int = 3) -> Any:
    """One of some good values with a few of its parts replaced, removed, or with a key more."""
    value = json.loads(json.dumps(draw(st.sampled_from(values))))
    for _ in range(draw(st.integers(0, most))):
        value = _changed(draw, value)
    return value


def _changed(draw: st.DrawFn, value: Any) -> Any:
    """The value with one part changed; each of its parts at every depth is as likely."""
    place = value
    while isinstance(place, dict | list) and place:
        key = draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw(st.integers(0, 3)):
            place = inner
            continue
        what = draw(st.sampled_from(["replaced", "replaced", "removed", "added"]))
        if what == "removed":
            del place[key]
        elif what == "added" and isinstance(place, dict):
            place[draw(st.text(max_size=4))] = copy.deepcopy(draw(ODD))
        else:
            place[key] = copy.deepcopy(draw(ODD))
        return value
    return copy.deepcopy(draw(ODD))


def same(left: Any, right: Any) -> bool:
    """Whether two values are alike in every type and every bit, NaN like NaN, keys in the same order."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right) if isinstance(left, float) else bool(left == right)
