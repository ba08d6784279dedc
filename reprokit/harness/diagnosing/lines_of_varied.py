"""The line that a varied condition acts on, where no line that was recorded is held: found by its calls.

One run as it is and one varied are compared call by call. The first call that gives something else for the
same is where the condition acts. What a compiler reads is not watched where it compiles: lines that are seen
without it alone are lines of compiled code, and of these the first that draws counts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from reprokit.diagnosis import Cause
from reprokit.diagnosis.calls import Candidate, first_of, inexplicable, read_calls
from reprokit.harness.diagnosing.call_experiments import told_of, watched
from reprokit.harness.diagnosing.conditions import InstrumentedRun
from reprokit.harness.diagnosing.free_runs import same
from reprokit.harness.diagnosing.inquiry import COMPILER, VARIATION, Investigation, under
from reprokit.harness.diagnosing.named_causes import named_causes
from reprokit.variations import Variation

#: As the watch of calls names it.
_GENERATOR = "PyTorch's generator"


def with_line(inquiry: Investigation, held: Collection[str]) -> tuple[Cause, ...]:
    """The causes of what is held; a single one with the line at which its condition acts, if one is found."""
    causes = named_causes(inquiry, tuple(held))
    if len(causes) != 1 or causes[0].file is not None or not inquiry.lab.can_make(2):
        return causes
    pair = _pair(inquiry)
    if pair is None:
        return causes
    compiler = [one for one in inquiry.variations if one.name == COMPILER and VARIATION + COMPILER in held]
    one = _compiled_line(compiler[0], *pair) if compiler else _first_call(*pair)
    if one is None:
        return causes
    what = f"{one.name}: {causes[0].what.removeprefix('the program ')}"
    return (replace(causes[0], file=one.file, line=one.line, what=what),)


def _pair(inquiry: Investigation) -> tuple[InstrumentedRun, InstrumentedRun] | None:
    """A run as it is and a varied one, with all calls watched; None where they do not differ as before."""
    lab = inquiry.lab
    lab.progress.phase("at which call does it begin?")
    plain = watched(inquiry, mode="watch", window=None)
    varied = under(inquiry.variations, inquiry.first)
    one = lab.run("calls", plain)
    other = lab.run(
        "calls-varied",
        replace(plain, environment=varied.environment, start=varied.start, run_folder=varied.run_folder),
    )
    if one.trouble or other.trouble or same(inquiry, one, other) or not same(inquiry, inquiry.first, one):
        return None
    return one, other


def _first_call(one: InstrumentedRun, other: InstrumentedRun) -> Candidate | None:
    candidates = inexplicable(*(read_calls(ran.traced) for ran in (one, other))).candidates
    return candidates[0] if candidates else None


def _compiled_line(compiler: Variation, one: InstrumentedRun, other: InstrumentedRun) -> Candidate | None:
    """The first line that only the run without the compiler shows: one that draws, or the first of all."""
    compiled, plain = (one, other) if "1" in compiler.environment.values() else (other, one)
    seen = {record["site"] for record in _around(compiled)}
    inside = [record for record in _around(plain) if record["site"] not in seen]
    draws = {record["site"] for record in inside if _GENERATOR in record["generators"]}
    calls = read_calls(plain.traced)
    return first_of(calls, draws) or first_of(calls, {record["site"] for record in inside})


def _around(ran: InstrumentedRun) -> list[dict[str, Any]]:
    """What was around the first call of each line."""
    return [record for record in told_of(ran) if "generators" in record]
