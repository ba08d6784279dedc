"""Where runs are killed: at named steps, at the middle, or at every update and one of every other kind."""

import json

import pytest

from reprokit.errors import CannotJudgeError, UsageError
from reprokit.harness.running.resuming.counted_program import (
    Counted,
    begun_after,
    lost_parts,
    read_places,
)
from reprokit.harness.running.resuming.stop_places import (
    MOST_UPDATES,
    places_asked,
    steps_asked,
)
from reprokit.request import names_places


def counted(num_updates=6, *, saves_every=2, backwards=2):
    """What a loop is counted to do that accumulates, goes through its data in three updates, and saves."""
    found, numbers = [], {}

    def one(kind, updates, **more):
        numbers[kind] = numbers.get(kind, 0) + 1
        found.append({"kind": kind, "number": numbers[kind], "updates": updates, **more})

    for update in range(1, num_updates + 1):
        for _ in range(backwards):
            one("backward", update - 1)
        one("update", update)
        if update % 3 == 0:
            one("pass", update)
        if update % saves_every == 0:
            one("save", update)
            one("saved", update, bytes=100, file=f"{update}.pt")
    return Counted(places=tuple(found), states={})


@pytest.mark.parametrize("text", ["every", "middle", "5", "5,17"])
def test_what_can_be_asked_for(text):
    assert names_places(text)


@pytest.mark.parametrize("text", ["", "0", "5,", ",5", "-1", "all", "5;7", "5,0", "1.5"])
def test_what_cannot(text):
    assert not names_places(text)


def test_every_update_after_the_first_checkpoint_is_a_place_and_one_of_every_other_kind():
    places = places_asked("every", counted())
    assert [one.number for one in places if one.kind == "update"] == [3, 4, 5, 6]
    assert {one.kind for one in places} == {"update", "backward", "pass", "save", "saving", "saved"}
    assert all(one.has_checkpoint for one in places)


def test_many_updates_are_sampled_from_the_first_to_the_last():
    numbers = [one.number for one in places_asked("every", counted(100)) if one.kind == "update"]
    assert (numbers[0], numbers[-1], len(numbers)) == (3, 100, MOST_UPDATES)


def test_one_update_inside_a_pass_is_always_taken():
    """Of 91 updates in passes of nine, every tenth that is tried could be the last of its pass."""
    found = [{"kind": "saved", "number": 1, "updates": 0, "bytes": 9, "file": "0.pt"}]
    for update in range(1, 92):
        found.append({"kind": "update", "number": update, "updates": update})
        if update % 10 == 1:
            found.append({"kind": "pass", "number": update, "updates": update})
    places = places_asked("every", Counted(places=tuple(found), states={}))
    updates = [one.number for one in places if one.kind == "update"]
    assert updates[:MOST_UPDATES] == [1, 11, 21, 31, 41, 51, 61, 71, 81, 91]
    assert [number for number in updates if number % 10 != 1] == updates[MOST_UPDATES:] != []


def test_nothing_is_left_to_do_after_the_last_checkpoint():
    places = places_asked("every", counted(9, saves_every=3))
    assert [one.number for one in places if one.kind == "saved"] == [2]
    assert "saving" in {one.kind for one in places_asked("every", counted(6, saves_every=3))}


def test_a_single_backward_pass_of_an_update_is_no_accumulation():
    assert {one.kind for one in places_asked("every", counted(backwards=1))} >= {"update", "pass"}
    assert "backward" not in {one.kind for one in places_asked("every", counted(backwards=1))}


def test_a_file_is_cut_short_in_its_middle():
    (place,) = (one for one in places_asked("every", counted()) if one.kind == "saving")
    assert place.at_bytes == 50


def test_what_was_saved_elsewhere_is_no_checkpoint():
    seen = counted(4)
    nowhere = tuple({**one, "bytes": 0} if one["kind"] == "saved" else one for one in seen.places)
    places = places_asked("every", Counted(places=nowhere, states={}))
    assert {one.kind for one in places} == {"update"}
    assert not any(one.has_checkpoint for one in places)


def test_where_no_save_is_seen_what_the_killed_run_left_is_looked_at():
    """A program may write its checkpoints by itself: `path.write_bytes(pickle.dumps(…))`."""
    places = places_asked("every", counted(4, saves_every=9))
    assert len(places) >= 4
    assert all(one.has_checkpoint for one in places)


def test_named_updates_are_taken_and_the_one_before_the_first_checkpoint_says_so():
    first, other = places_asked("1,5", counted())
    assert (first.number, first.has_checkpoint) == (1, False)
    assert (other.number, other.has_checkpoint) == (5, True)


def test_the_middle_is_one_update_with_a_checkpoint_before_it():
    (place,) = places_asked("middle", counted(12))
    assert (place.kind, place.has_checkpoint) == ("update", True)
    assert 3 <= place.number <= 12


def test_an_update_past_the_end_is_refused():
    with pytest.raises(UsageError, match="killed at update 7"):
        places_asked("5,7", counted())


def test_a_program_whose_updates_no_one_sees_is_not_judged():
    with pytest.raises(CannotJudgeError, match="no update"):
        places_asked("every", Counted(places=(), states={}))


def test_a_trainer_is_killed_at_the_steps_of_its_records():
    steps = list(range(10, 110, 10))
    assert steps_asked("every", steps, after=30) == (40, 50, 60, 70, 80, 90, 100)
    assert steps_asked("middle", steps, after=30) == (70,)
    assert steps_asked("5,17", steps, after=30) == (5, 17)
    assert steps_asked(17, steps, after=30) == (17,)
    with pytest.raises(UsageError, match="step 101"):
        steps_asked("17,101", steps, after=30)


WHOLE = {
    0: {"parameters": "p0", "optimizer": "o0", "generator": "g0", "gradients": "d0"},
    1: {"parameters": "p1", "optimizer": "o1", "generator": "g1", "gradients": "d1"},
}


@pytest.mark.parametrize(
    ("begun", "lost"),
    [
        (WHOLE[1], ()),
        ({**WHOLE[1], "optimizer": "o0"}, ("optimizer",)),
        ({**WHOLE[1], "optimizer": "o0", "gradients": "other"}, ("optimizer",)),
        ({**WHOLE[1], "gradients": "other"}, ("samples",)),
        ({**WHOLE[1], "parameters": "other"}, ("parameters",)),
    ],
)
def test_what_was_lost_is_what_differs_at_the_update_with_the_same_parameters(begun, lost):
    resumed = Counted(places=(), states={0: begun})
    assert lost_parts(Counted(places=(), states=WHOLE), resumed) == lost


@pytest.mark.parametrize(
    ("begun", "after"), [(WHOLE[1], 1), (WHOLE[0], 0), ({**WHOLE[1], "optimizer": "o0"}, None)]
)
def test_a_resumed_run_began_after_the_update_that_left_the_whole_of_its_state(begun, after):
    resumed = Counted(places=(), states={0: begun})
    assert begun_after(Counted(places=(), states=WHOLE), resumed) == after


def test_where_no_state_was_seen_no_one_knows_after_which_update_it_began():
    assert begun_after(Counted(places=(), states=WHOLE), Counted(places=(), states={})) is None


def test_what_was_counted_is_read_and_a_torn_line_is_refused(tmp_path):
    lines = [
        {"kind": "state", "updates": 0, "parts": {"parameters": "p"}},
        {"kind": "update", "number": 1, "updates": 1},
    ]
    file = tmp_path / "places.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_places(tmp_path)
    assert (found.num_updates, found.states) == (1, {0: {"parameters": "p"}})
    file.write_text(file.read_text() + '{"kind"')
    with pytest.raises(CannotJudgeError, match="cannot be read"):
        read_places(tmp_path)
