"""Where two runs first differ: the first event of their training, in order, whose digests differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reprokit.diagnosis.traces import HookTrace

Place = tuple[int, int]
_STATE = "state of "
#: What an update computes, in its order.
COMPUTED = ("gradients", "optimizer", "parameters")
#: Event → what it is called in a sentence.
_EVENTS = {
    "update": "an update",
    "environments": "steps of environments",
    "step": "a step of an environment",
    "reset": "a reset of an environment",
    "batch": "what the model is given",
    "loader": "a batch of the loader",
    "epoch": "the end of an epoch",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """The first event that differs.

    Attributes:
        event: ``update``, ``batch``, ``loader``, ``epoch``, ``step``, ``reset``, ``environments``, or
            ``course`` where the events themselves differ.
        update: In or before which optimizer step it happens, from 1.
        steps: Steps of environments done by then.
        stream: What differs first in it: ``batch``, ``gradients``, ``optimizer``, ``parameters``,
            ``answers of environment 0``, …
        streams: All that differs in it.
        generators: Generators whose state differs there or before: name → the first update with that.
        equal_before: The last equal event; "" where there was none.
        since: Updates and steps done after the last equal event.
        until: Updates and steps done after this one.
        single: Whether every event between the two was digested.
        process: Of the run: ``0`` is the first.
        rank: Of that process among those that train one model; None where it trains alone.
    """

    event: str
    update: int
    steps: int
    stream: str
    streams: tuple[str, ...] = ()
    generators: Mapping[str, int]
    equal_before: str
    since: Place
    until: Place
    single: bool
    process: str
    rank: int | None = None

    @property
    def place(self) -> str:
        """Where it is, in a few words: ``update 37 (step 37,888)``."""
        in_world = self.event in {"step", "reset", "environments"}
        rank = "" if self.rank is None else f" of rank {self.rank}"
        place = "" if in_world and self.update == 1 else f"update {self.update}{rank}"
        step = f"step {self.steps:,}" if self.steps else ""
        if not place:
            return f"environment {step}" if step else "the first reset"
        return f"{place} ({step})" if step else place

    @property
    def what_differs(self) -> str:
        words = {
            "batch": "the batch that the model is given",
            "batch of the loader": "the batch that the loader hands out",
            "gradients": "the gradients",
            "optimizer": "the optimizer's state",
            "parameters": "the parameters",
            "samples": "the samples of the epoch",
        }
        if self.event == "course":
            return "what the program does"
        if self.stream.startswith("answers of"):
            return f"what {self.stream.removeprefix('answers of ')} answers"
        return words.get(self.stream, f"the {self.stream}")


def first_difference(first: HookTrace, second: HookTrace) -> Began | None:
    """The first event that differs, in the first process that has one; None where all are equal.

    Of ranks, which tell each other their gradients, in the one that differs first in the course of an update.
    """
    found = [
        began
        for process in sorted(first.progress)
        if process in second.progress
        and (began := _compared(first.progress[process], second.progress[process], process))
    ]
    if not found or found[0].rank is None:
        return found[0] if found else None
    return min((one for one in found if one.rank is not None), key=_when)


def _when(began: Began) -> tuple[int, ...]:
    """When it happens: what is given to a model comes before what is computed and exchanged."""
    stage = COMPUTED.index(began.stream) + 1 if began.stream in COMPUTED else 0
    return began.update, began.steps, stage, began.rank or 0


def same_samples(first: HookTrace, second: HookTrace) -> bool:
    """Whether a loader gave different batches, yet the same samples by the end of the epoch."""
    for process, one in first.progress.items():
        pairs = list(zip(one["events"], second.progress.get(process, one)["events"], strict=False))
        batches = [pair for pair in pairs if pair[0]["event"] == pair[1]["event"] == "loader"]
        ends = [pair for pair in pairs if pair[0]["event"] == pair[1]["event"] == "epoch"]
        other = any(mine["streams"] != theirs["streams"] for mine, theirs in batches)
        if other and ends and ends[0][0]["streams"] == ends[0][1]["streams"]:
            return True
    return False


def schedules(trace: HookTrace) -> dict[str, Any]:
    """Orders for another run, to digest the same events."""
    return {"mode": "follow", "schedules": {name: one["schedule"] for name, one in trace.progress.items()}}


def _compared(one: Mapping[str, Any], other: Mapping[str, Any], process: str) -> Began | None:
    left, right = one["events"], other["events"]
    fine = one["mode"] in {"narrow", "deep"}
    rank = one["rank"] if type(one.get("rank")) is int else None
    for number, (mine, theirs) in enumerate(zip(left, right, strict=False)):
        if _numbers(mine) != _numbers(theirs) or _course(mine) != _course(theirs):
            return replace(_began(left, right, number, process, fine=fine), rank=rank)
    if len(left) != len(right) and left and right:
        return replace(_began(left, right, min(len(left), len(right)), process, fine=fine), rank=rank)
    return None


def _began(left: Sequence[Any], right: Sequence[Any], number: int, process: str, *, fine: bool) -> Began:
    mine, theirs = (events[number] if number < len(events) else None for events in (left, right))
    here: Mapping[str, Any] = mine or theirs or {}
    before = left[number - 1] if number else None
    alike = mine is not None and theirs is not None and _course(mine) == _course(theirs)
    streams = _differing(mine, theirs) if alike else ()
    steps = [one["steps"] for one in (mine, theirs) if one]
    updates = [one["updates"] for one in (mine, theirs) if one]
    return Began(
        event=here["event"] if alike else "course",
        update=min(updates) if here["event"] == "update" else min(updates) + 1,
        steps=min(steps),
        stream=streams[0] if streams else "",
        streams=streams,
        generators=_generators(left, right, number),
        equal_before=_described(before),
        since=(before["updates"], before["steps"]) if before else (0, 0),
        until=(max(updates), max(steps)),
        single=fine,
        process=process,
    )


def _course(event: Mapping[str, Any]) -> tuple[Any, ...]:
    return event["event"], event["updates"], event["steps"]


def _numbers(event: Mapping[str, Any]) -> dict[str, str]:
    """The digests of what the program computes with: a generator's state alone is no difference yet."""
    return {name: digest for name, digest in event["streams"].items() if not name.startswith(_STATE)}


def _differing(mine: Any, theirs: Any) -> tuple[str, ...]:
    one, other = _numbers(mine), _numbers(theirs)
    return tuple(name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name))


def _generators(left: Sequence[Any], right: Sequence[Any], until: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for mine, theirs in zip(left[: until + 1], right[: until + 1], strict=False):
        for name, digest in mine["streams"].items():
            if name.startswith(_STATE) and theirs["streams"].get(name, digest) != digest:
                found.setdefault(name.removeprefix(_STATE), mine["updates"])
    return found


def _described(event: Mapping[str, Any] | None) -> str:
    if event is None:
        return ""
    name = event["event"]
    if name == "update":
        return f"update {event['updates']}: {_listed([*_numbers(event)])}"
    step = f" (step {event['steps']:,})" if event["steps"] else ""
    return f"{_EVENTS.get(name, name)}{step}: {_listed([*_numbers(event)])}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
