"""Where two runs first differ: the pair is run again, with ever more events digested.

The digests of the first pair leave a range between the last equal event and the first that differs. The pair
is run again with every update, batch and step of that range digested; then, where no experiment found a
line, with every operation and every draw of the one update that is left. An operation is called a cause only
where no other experiment contradicts it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from reprokit import diagnosis
from reprokit.diagnosis import Began, Cause, Operation, Place
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun
from reprokit.harness.diagnosing.inquiry import Investigation, all_held, under
from reprokit.harness.judging.differences.rank_traces import compare_ranks
from reprokit.layout import OUTPUT

MEASURE: dict[str, Any] = {"mode": "measure"}
_ENVIRONMENT = "environment "
_NOT_FINISHED = "with every operation recorded the program does not finish"
_NONE_DIFFERS = "no operation of PyTorch gave a different output for the same inputs"
_UNTIL_OTHERS = ", up to where the two runs no longer call the same operations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The conditions under which two runs are made again and again, and differ each time."""

    one: Conditions
    other: Conditions


def like(run: InstrumentedRun) -> dict[str, Any]:
    """Orders for a run to be looked at where that one was."""
    return diagnosis.schedules(run.trace) if run.trace.progress else {}


def where_it_began(inquiry: Investigation, *, closely: bool = True) -> Began | None:
    """The first event that differs between the two runs; None where nothing is known of their training.

    ``closely``: with the pair made again for it, where that is needed.
    """
    coarse = diagnosis.first_difference(inquiry.first.trace, inquiry.other.trace)
    one, other = inquiry.close_pair
    if coarse is not None and one is not None and other is not None:
        return _closer(inquiry, one, other, coarse)
    if coarse is None or not closely or not inquiry.lab.can_make(2):
        return coarse
    return narrowed(inquiry, _again(inquiry), coarse)


def first_rank(one: InstrumentedRun, other: InstrumentedRun) -> tuple[str, ...]:
    """Of several ranks that train together, the first one that differs, with its update and collective."""
    found = compare_ranks(one.folder / OUTPUT, other.folder / OUTPUT, beginning=True)
    place = (found.first or {}).get("place")
    return (f"of the ranks, the first that differs is {place}",) if place else ()


def narrowed(inquiry: Investigation, pair: Pair, coarse: Began) -> Began:
    """The same, with the pair run again and every event since the last equal one digested."""
    inquiry.lab.progress.phase("where do they first differ?")
    orders = {"mode": "narrow", "from": coarse.since, "to": coarse.until}
    return _closer(inquiry, *_made(inquiry, pair, orders, label="narrow"), coarse)


def _closer(inquiry: Investigation, one: InstrumentedRun, other: InstrumentedRun, coarse: Began) -> Began:
    """The first event that differs between two runs, all of whose events there were digested."""
    found = diagnosis.first_difference(one.trace, other.trace)
    inside = found is not None and found.until <= coarse.until
    if one.trouble or other.trouble or found is None or not inside:
        inquiry.known.append(
            "when they were made again, the two runs did not begin to differ at the same place"
        )
        return coarse
    if diagnosis.same_samples(one.trace, other.trace):
        inquiry.known.append("the loader gives the same samples in a different order")
    if not found.equal_before:
        found = replace(found, equal_before=coarse.equal_before)
    return replace(found, generators={**coarse.generators, **found.generators})


def _again(inquiry: Investigation) -> Pair:
    """The first run and the other once more: each with its own values, hash seed and conditions."""
    varied = under(inquiry.variations, inquiry.other)
    return Pair(one=all_held(inquiry), other=replace(varied, pins=("*",), hash_seed=True))


def _held(inquiry: Investigation) -> Pair:
    """Two runs with everything held that can be: what still differs, nothing that was held explains."""
    varied = under(inquiry.variations, inquiry.first)
    return Pair(one=all_held(inquiry), other=replace(varied, pins=("*",), hash_seed=True, fresh=True))


def _made(
    inquiry: Investigation, pair: Pair, orders: dict[str, Any], *, label: str
) -> tuple[InstrumentedRun, InstrumentedRun]:
    inquiry.lab.expect(2)
    level = "deep" if orders["mode"] == "deep" else "light"
    one = inquiry.lab.run(label, replace(pair.one, progress=orders, level=level))
    other = inquiry.lab.run(label, replace(pair.other, progress=orders, level=level))
    return one, other


def by_operation(inquiry: Investigation) -> tuple[Cause, ...]:
    """The first thing computed with the same inputs and another output, everything held that can be."""
    ran_torch = bool(inquiry.first.trace.facts.get("torch"))
    if not (ran_torch or inquiry.first.trace.progress):
        return ()
    pair = _held(inquiry)
    found = _in_one_update(inquiry, pair) if ran_torch else None
    if found is None:
        found = _wherever(inquiry, pair, ran_torch=ran_torch)
    return _cause(inquiry, pair, found) if found is not None else ()


def _in_one_update(inquiry: Investigation, pair: Pair) -> Operation | None:
    """The operation, where the first pair shows one update that computes different values from equal ones."""
    coarse = inquiry.began
    if coarse is None or coarse.stream not in diagnosis.COMPUTED or coarse.until[0] - coarse.since[0] > 1:
        return None
    traced = _traced(inquiry, pair, coarse.since, coarse.until)
    if traced is None:
        return None
    one, other = traced
    found = diagnosis.first_operation(one.traced, other.traced)
    closer = diagnosis.first_difference(one.trace, other.trace)
    if found is not None and closer is not None:
        inquiry.began = replace(closer, equal_before=closer.equal_before or coarse.equal_before)
    return found


def _wherever(inquiry: Investigation, pair: Pair, *, ran_torch: bool) -> Operation | None:
    """The operation where the held pair begins to differ, or else anywhere in the program."""
    began = _began_though_held(inquiry, pair)
    if began is not None:
        inquiry.began = began
        traced = _traced(inquiry, pair, began.since, began.until)
        found = diagnosis.first_operation(*(one.traced for one in traced)) if traced else None
        if found is not None or not ran_torch:
            return found
    traced = _traced(inquiry, pair, (0, 0), (2**62, 2**62)) if ran_torch else None
    if traced is None:
        return None
    folders = [one.traced for one in traced]
    found, to_the_end = diagnosis.first_operation(*folders), diagnosis.same_operations(*folders)
    if found is None and to_the_end is not None:
        inquiry.known.append(_NONE_DIFFERS if to_the_end else f"{_NONE_DIFFERS}{_UNTIL_OTHERS}")
    return found


def _began_though_held(inquiry: Investigation, pair: Pair) -> Began | None:
    progress = inquiry.first.trace.progress.values()
    if not any(one["updates"] or one["steps"] for one in progress) or not inquiry.lab.can_make(2):
        return None
    one, other = _made(inquiry, pair, like(inquiry.first), label="all-held")
    coarse = diagnosis.first_difference(one.trace, other.trace)
    return narrowed(inquiry, pair, coarse) if coarse else None


def _traced(
    inquiry: Investigation, pair: Pair, since: Place, until: Place
) -> tuple[InstrumentedRun, InstrumentedRun] | None:
    """The pair with every operation between two places recorded; None where that could not be done."""
    if not inquiry.lab.can_make(2):
        return None
    inquiry.lab.progress.phase("which operation differs first?")
    orders = {"mode": "deep", "from": since, "to": until}
    one, other = _made(inquiry, pair, orders, label="operations")
    if not (one.trouble or other.trouble):
        return one, other
    if _NOT_FINISHED not in inquiry.known:
        inquiry.known.append(_NOT_FINISHED)
    return None


def _cause(inquiry: Investigation, pair: Pair, found: Operation) -> tuple[Cause, ...]:
    if found.name.startswith(_ENVIRONMENT):
        return simulator(inquiry, pair, found)
    cause = diagnosis.cause_of_operation(found, varied=bool(inquiry.variations))
    if cause is None:
        inquiry.known.append(diagnosis.known_of_operation(found))
        return ()
    return (cause,)


def simulator(inquiry: Investigation, pair: Pair, found: Operation) -> tuple[Cause, ...]:
    """An environment that answers differently, checked by replaying its actions in two new processes."""
    number = int(found.name.removeprefix(_ENVIRONMENT))
    scripted = inquiry.lab.run("actions", replace(pair.one, progress={"mode": "record", "record": number}))
    script = scripted.trace.scripts.get(str(number))
    if script is None or not script["spec"]:
        return _not_alone(inquiry, found, "no module registers it")
    orders = {"mode": "alone", "script": {**script, "path": scripted.trace.facts.get("path", [])}}
    alone = replace(
        pair.one,
        pins=(),
        progress=orders,
        command=(str(scripted.trace.facts["executable"]), "-m", "reprokit_hook.simulator_replay"),
    )
    answers = [_answers(inquiry.lab.run("simulator-alone", alone)) for _ in range(2)]
    if None in answers:
        return _not_alone(inquiry, found, "see simulator-alone/stderr.log")
    if answers[0] == answers[1]:
        equal = "answers the same actions equally when it runs alone: the difference comes from outside it"
        inquiry.known.append(f"{found.name} {equal}")
        return ()
    return (diagnosis.cause_of_simulator(found, confidence="high"),)


def _not_alone(inquiry: Investigation, found: Operation, why: str) -> tuple[Cause, ...]:
    inquiry.known.append(f"{found.name} could not be created alone: {why}")
    return (diagnosis.cause_of_simulator(found, confidence="medium"),)


def _answers(ran: InstrumentedRun) -> Any:
    path = ran.traced / "alone.json"
    return json.loads(path.read_bytes()) if path.is_file() and not ran.trouble else None
