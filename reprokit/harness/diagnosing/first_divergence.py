"""Where two runs begin to differ: the pair is made again, and looked at ever more closely.

The digests of the first pair leave a stretch between the last that were equal and the first that were not.
The pair is made again with every update, batch and step of that stretch digested; then, where no line was
found by experiment, with every operation and every draw of the one update that is left.

This module knows which runs to make; it refuses to call anything a cause that another experiment has denied.

    >>> where_it_began(inquiry).update
    37
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from reprokit import diagnosis
from reprokit.diagnosis import Began, Cause, Operation
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.experiments import Inquiry, all_held, under

MEASURE: dict[str, Any] = {"mode": "measure"}
_WORLD = "environment "


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The conditions under which two runs are made again and again, and differ each time."""

    one: Conditions
    other: Conditions


def like(run: InstrumentedRun) -> dict[str, Any]:
    """Orders for a run to be looked at where that one was."""
    return diagnosis.schedules(run.trace) if run.trace.progress else {}


def where_it_began(inquiry: Inquiry) -> Began | None:
    """The first event that differs between the two runs; None where nothing is known of their training."""
    coarse = diagnosis.first_difference(inquiry.first.trace, inquiry.other.trace)
    if coarse is None or inquiry.lab.spent:
        return coarse
    return narrowed(inquiry, _again(inquiry), coarse)


def narrowed(inquiry: Inquiry, pair: Pair, coarse: Began) -> Began:
    """The same, with the pair made again and everything looked at since the last that was equal."""
    inquiry.lab.progress.phase("narrow")
    orders = {"mode": "narrow", "from": coarse.since, "to": coarse.until}
    one, other = _made(inquiry, pair, orders, label="narrow")
    found = diagnosis.first_difference(one.trace, other.trace)
    inside = found is not None and found.until <= coarse.until
    if one.trouble or other.trouble or found is None or not inside:
        inquiry.known.append("made again, the two runs did not begin to differ at the same place")
        return coarse
    if diagnosis.same_samples(one.trace, other.trace):
        inquiry.known.append("the loader hands out the same samples in another order")
    if not found.equal_before:
        found = replace(found, equal_before=coarse.equal_before)
    return replace(found, generators={**coarse.generators, **found.generators})


def _again(inquiry: Inquiry) -> Pair:
    """The first run and the other once more: each with its own values, hash seed and surroundings."""
    one = Conditions(like=inquiry.first, pins=("*",), hash_seed=True, fresh=True)
    varied = under(inquiry.variations, inquiry.other)
    return Pair(one=one, other=replace(varied, pins=("*",), hash_seed=True))


def _held(inquiry: Inquiry) -> Pair:
    """Two runs with everything held that can be: what still differs, nothing that was held explains."""
    held = all_held(inquiry)
    varied = under(inquiry.variations, inquiry.first)
    return Pair(one=held, other=replace(varied, pins=("*",), hash_seed=True, fresh=True))


def _made(
    inquiry: Inquiry, pair: Pair, orders: dict[str, Any], *, label: str
) -> tuple[InstrumentedRun, InstrumentedRun]:
    level = "deep" if orders["mode"] == "deep" else "light"
    one = inquiry.lab.run(label, replace(pair.one, progress=orders, level=level))
    other = inquiry.lab.run(label, replace(pair.other, progress=orders, level=level))
    return one, other


def by_operation(inquiry: Inquiry) -> tuple[Cause, ...]:
    """The first thing computed with the same inputs and another output, everything held that can be."""
    if not (inquiry.first.trace.facts.get("torch") or inquiry.first.trace.progress):
        return ()
    pair = _held(inquiry)
    began = _began_though_held(inquiry, pair)
    inquiry.lab.progress.phase("watch operations")
    found = None
    if began is not None:
        inquiry.began = began
        found = _first(inquiry, pair, {"mode": "deep", "from": began.since, "to": began.until})
    if found is None and inquiry.first.trace.facts.get("torch"):
        everything = {"mode": "deep", "from": (0, 0), "to": (2**62, 2**62)}
        found = _first(inquiry, pair, everything)
    if found is None:
        inquiry.known.append("no operation of PyTorch gave another output for the same inputs")
        return ()
    return _cause(inquiry, pair, found)


def _began_though_held(inquiry: Inquiry, pair: Pair) -> Began | None:
    schedule = like(inquiry.first)
    updates = max((one["updates"] for one in inquiry.first.trace.progress.values()), default=0)
    steps = max((one["steps"] for one in inquiry.first.trace.progress.values()), default=0)
    if not updates + steps or inquiry.lab.spent:
        return None
    one, other = _made(inquiry, pair, schedule, label="all-held")
    coarse = diagnosis.first_difference(one.trace, other.trace)
    return narrowed(inquiry, pair, coarse) if coarse else None


def _first(inquiry: Inquiry, pair: Pair, orders: dict[str, Any]) -> Operation | None:
    if inquiry.lab.spent:
        return None
    one, other = _made(inquiry, pair, orders, label="operations")
    if one.trouble or other.trouble:
        inquiry.known.append("with every operation watched the program does not come to its end")
        return None
    return diagnosis.first_operation(one.traced, other.traced)


def _cause(inquiry: Inquiry, pair: Pair, found: Operation) -> tuple[Cause, ...]:
    if found.name.startswith(_WORLD):
        return simulator(inquiry, pair, found)
    cause = diagnosis.cause_of_operation(found, varied=bool(inquiry.variations))
    if cause is None:
        inquiry.known.append(diagnosis.known_of_operation(found))
        return ()
    return (cause,)


def simulator(inquiry: Inquiry, pair: Pair, found: Operation) -> tuple[Cause, ...]:
    """An environment that answers otherwise, if it does so alone: its actions again in two new processes."""
    number = int(found.name.removeprefix(_WORLD))
    scripted = inquiry.lab.run("actions", replace(pair.one, progress={"mode": "record", "record": number}))
    script = scripted.trace.scripts.get(str(number))
    if script is None or not script["spec"]:
        inquiry.known.append(f"environment {number} could not be made alone: no module registers it")
        return (diagnosis.cause_of_simulator(found, confidence="medium"),)
    orders = {"mode": "alone", "script": {**script, "path": scripted.trace.facts.get("path", [])}}
    alone = replace(
        pair.one,
        pins=(),
        progress=orders,
        command=(str(scripted.trace.facts["executable"]), "-m", "reprokit_hook.simulator_replay"),
    )
    answers = [_answers(inquiry.lab.run("simulator-alone", alone)) for _ in range(2)]
    if None in answers:
        inquiry.known.append(f"environment {number} could not be made alone: see simulator-alone/stderr.log")
        return (diagnosis.cause_of_simulator(found, confidence="medium"),)
    if answers[0] == answers[1]:
        inquiry.known.append(
            f"environment {number} answers the same actions alike when it is alone: "
            "what differs came to it from outside"
        )
        return ()
    return (diagnosis.cause_of_simulator(found, confidence="high"),)


def _answers(ran: InstrumentedRun) -> Any:
    path = ran.traced / "alone.json"
    return json.loads(path.read_bytes()) if path.is_file() and not ran.trouble else None
