"""Where a run is killed and resumed: at one step, at the middle, at named ones, or at every update.

Where there are many updates, some are taken, the first and the last of them included, and one inside a pass
over the data; of every other kind of place one is taken that has a checkpoint before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from reprokit.errors import CannotJudgeError, UsageError
from reprokit.harness.running.resuming.counted_program import Counted
from reprokit.harness.running.run_kinds import StopPlace
from reprokit.request import EVERY, MIDDLE

#: So many updates are all tried; of more, so many are taken.
MOST_UPDATES = 10
_TOLD = {
    "update": "after update {updates}",
    "backward": "within update {next}, between two of its backward passes",
    "pass": "at the end of a pass over the data, after update {updates}",
    "save": "before checkpoint {number} was written, after update {updates}",
    "saving": "while checkpoint {number} was being written, after update {updates}",
    "saved": "right after checkpoint {number} was written, after update {updates}",
}


def steps_asked(asked: int | str, steps: Sequence[int], *, after: int) -> tuple[int, ...]:
    """The steps at which a trainer is killed.

    Args:
        asked: What was typed.
        steps: The steps of the whole run's records, in order.
        after: The step of its first checkpoint.

    Raises:
        UsageError: A step lies past the end.
    """
    if isinstance(asked, int) or asked not in {EVERY, MIDDLE}:
        named = tuple(dict.fromkeys(map(int, str(asked).split(","))))
        _must_not_be_past(named, steps[-1], what="step")
        return named
    later = [step for step in dict.fromkeys(steps) if step > after] or list(steps)
    return (later[len(later) // 2],) if asked == MIDDLE else tuple(_spread(later))


def places_asked(asked: int | str, counted: Counted) -> tuple[StopPlace, ...]:
    """The places at which an unmodified program is killed.

    Raises:
        UsageError: An update lies past the end.
        CannotJudgeError: No update was seen.
    """
    places = tuple(_places(counted))
    updates = [one for one in places if one.kind == "update"]
    if not updates:
        raise CannotJudgeError(
            "no update of this program was seen, so it cannot be killed at one",
            expected="a step of PyTorch, Keras, LightGBM, XGBoost, scikit-learn or Optuna",
            fix="say in `resume.stop_args` how it stops, and leave out --stop-at",
        )
    if isinstance(asked, int) or asked not in {EVERY, MIDDLE}:
        named = tuple(dict.fromkeys(map(int, str(asked).split(","))))
        _must_not_be_past(named, updates[-1].number, what="update")
        return tuple(updates[number - 1] for number in named)
    known = _left_to_do(places, counted)
    later = [one for one in known if one.kind == "update"] or updates
    if asked == MIDDLE:
        return (later[len(later) // 2],)
    found = [*_spread(later), *_inside_a_pass(known, tuple(_spread(later)))]
    for kind in _TOLD:
        of_kind = [one for one in known if one.kind == kind != "update"]
        found += of_kind[len(of_kind) // 2 :][:1]
    return tuple(found)


def _inside_a_pass(known: Sequence[StopPlace], taken: Sequence[StopPlace]) -> list[StopPlace]:
    """An update that no pass over the data ends with, where all that were taken are the last of one."""
    ends = {one.updates for one in known if one.kind == "pass"}
    inside = [one for one in known if one.kind == "update" and one.updates not in ends]
    if not ends or not inside or any(one.updates not in ends for one in taken):
        return []
    return [inside[len(inside) // 2]]


def _must_not_be_past(named: Sequence[int], last: int, *, what: str) -> None:
    past = [number for number in named if number > last]
    if past:
        raise UsageError(
            f"a run cannot be killed at {what} {past[0]}", expected=f"{what} 1 to {last}", actual=str(past[0])
        )


def _spread(found: Sequence[Any]) -> Iterator[Any]:
    """All, or as many as are tried, evenly, from the first to the last."""
    if len(found) <= MOST_UPDATES:
        yield from found
        return
    for number in range(MOST_UPDATES):
        yield found[round(number * (len(found) - 1) / (MOST_UPDATES - 1))]


def _places(counted: Counted) -> Iterator[StopPlace]:
    """Every place of a program, in the order in which it comes to them."""
    sizes = {one["number"]: one["bytes"] for one in counted.places if one["kind"] == "saved"}
    within = _within(counted.places)
    has_checkpoint = not sizes  # where no save was seen, what the run leaves says whether there is one
    for one in counted.places:
        kind, number = one["kind"], one["number"]
        if kind == "backward" and number not in within:
            continue
        if kind in {"save", "saved"} and not sizes.get(number):
            continue  # what it wrote is no file of the run
        yield _place(one, kind=kind, has_checkpoint=has_checkpoint)
        has_checkpoint = has_checkpoint or kind == "saved"  # there itself it may still have another name
        if kind == "save":
            yield _place(
                one, kind="saving", has_checkpoint=has_checkpoint, at_bytes=max(1, sizes[number] // 2)
            )


def _place(one: Mapping[str, Any], *, kind: str, has_checkpoint: bool, at_bytes: int = 0) -> StopPlace:
    updates = one["updates"]
    return StopPlace(
        kind=kind,
        number=one["number"],
        told=_TOLD[kind].format(updates=updates, next=updates + 1, number=one["number"]),
        updates=updates,
        has_checkpoint=has_checkpoint,
        at_bytes=at_bytes,
    )


def _within(places: Sequence[Mapping[str, Any]]) -> set[int]:
    """Backward passes that another one follows before the update is made."""
    steps = [one for one in places if one["kind"] in {"backward", "update"}]
    return {
        one["number"] for one, following in pairwise(steps) if one["kind"] == following["kind"] == "backward"
    }


def _left_to_do(places: Sequence[StopPlace], counted: Counted) -> list[StopPlace]:
    """Places with a checkpoint before them, up to the checkpoint after which nothing is left to do."""
    found = []
    for place in places:
        if place.kind == "saved" and place.updates == counted.num_updates:
            break
        if place.has_checkpoint:
            found.append(place)
    return found
