"""Where two runs begin to differ: the first event with another digest, and what was equal just before."""

from __future__ import annotations

import pytest

from reprokit.diagnosis import HookTrace, first_difference, same_samples, schedules


def update(number, *, steps=0, **streams):
    told = {name.replace("_", " "): digest for name, digest in streams.items()}
    return {"event": "update", "updates": number, "steps": steps, "streams": told}


def trace(*events, mode="measure", process="0", schedule=None):
    told = {"mode": mode, "updates": 9, "steps": 0, "events": list(events), "schedule": schedule or {}}
    return HookTrace(sites={}, files={}, processes=1, started=1, progress={process: told})


def test_equal_events_have_no_first_difference():
    one = trace(update(1, batch="a", parameters="b"))
    assert first_difference(one, one) is None


def test_a_run_without_a_trace_of_its_training_has_none():
    assert (
        first_difference(HookTrace(sites={}, files={}, processes=1, started=1), trace(update(1, batch="a")))
        is None
    )


def test_the_first_stream_of_the_first_event_that_differs_is_named_and_what_was_equal_before():
    equal = update(4, steps=40, batch="a", gradients="g", parameters="p")
    first = trace(equal, update(8, steps=80, batch="b", gradients="h", parameters="q"))
    second = trace(equal, update(8, steps=80, batch="b", gradients="x", parameters="y"))

    found = first_difference(first, second)

    assert (found.event, found.update, found.steps, found.stream) == ("update", 8, 80, "gradients")
    assert found.streams == ("gradients", "parameters")
    assert found.equal_before == "update 4: batch, gradients, parameters"
    assert (found.since, found.until, found.single) == ((4, 40), (8, 80), False)
    assert found.place == "update 8 (step 80)"
    assert found.what_differs == "the gradients"


def test_a_generator_that_differs_alone_is_no_difference_but_is_told_with_the_next():
    first = trace(update(1, batch="a", state_of_g="1"), update(2, batch="b", state_of_g="1"))
    second = trace(update(1, batch="a", state_of_g="2"), update(2, batch="c", state_of_g="3"))
    found = first_difference(first, second)
    assert (found.update, found.stream, dict(found.generators)) == (2, "batch", {"g": 1})


def test_only_a_generator_that_nobody_uses_differs_so_nothing_does():
    first, second = (trace(update(1, batch="a", state_of_g=state)) for state in "12")
    assert first_difference(first, second) is None


@pytest.mark.parametrize(
    "second", [trace(update(1, batch="a")), trace(update(1, batch="a"), update(3, batch="b"))]
)
def test_runs_that_do_not_even_do_the_same_part_there(second):
    first = trace(update(1, batch="a"), update(2, batch="b"))
    found = first_difference(first, second)
    assert (found.event, found.stream, found.since) == ("course", "", (1, 0))
    assert found.what_differs == "what the program does"


def test_an_environment_that_answers_otherwise_is_told_by_its_number():
    def step(answer):
        streams = {"actions in environment 3": "a", "answers of environment 3": answer}
        return trace({"event": "step", "updates": 0, "steps": 7, "streams": streams}, mode="narrow")

    found = first_difference(step("x"), step("y"))
    assert (found.place, found.what_differs) == ("environment step 7", "what environment 3 answers")
    assert found.single


def test_another_run_is_ordered_to_look_where_this_one_has_looked():
    chosen = {"updates": [0, 1, 3], "windows": [0]}
    assert schedules(trace(schedule=chosen)) == {"mode": "follow", "schedules": {"0": chosen}}


def test_the_same_samples_in_another_order_are_told_from_other_samples():
    def epoch(batch, samples):
        handed = {"event": "loader", "updates": 0, "steps": 0, "streams": {"batch of the loader": batch}}
        end = {"event": "epoch", "updates": 3, "steps": 0, "streams": {"samples": samples}}
        return trace(handed, end, mode="narrow")

    assert same_samples(epoch("a", "1"), epoch("b", "1"))
    assert not same_samples(epoch("a", "1"), epoch("b", "2"))
    assert not same_samples(epoch("a", "1"), epoch("a", "1"))


def ranks(*processes):
    """A trace of ranks that train together, the events of each."""
    told = {
        f"0.r{rank}": {"mode": "measure", "rank": rank, "updates": 9, "steps": 0, "events": list(events)}
        for rank, events in enumerate(processes)
    }
    return HookTrace(sites={}, files={}, processes=len(told), started=len(told), progress=told)


def test_of_ranks_the_one_that_differs_before_their_gradients_are_exchanged_is_named():
    equal = update(1, batch="a", gradients="g")
    first = ranks([equal, update(2, batch="b", gradients="h")], [equal, update(2, batch="c", gradients="h")])
    second = ranks([equal, update(2, batch="b", gradients="x")], [equal, update(2, batch="y", gradients="x")])
    found = first_difference(first, second)
    assert (found.rank, found.stream, found.place) == (1, "batch", "update 2 of rank 1")
    assert found.equal_before == "update 1: batch, gradients"


def test_of_ranks_an_earlier_update_comes_first_and_of_equal_ones_the_lower_rank():
    equal = update(1, batch="a", gradients="g")
    first = ranks([equal, update(2, batch="b", gradients="h")], [equal, update(2, batch="c", gradients="h")])
    late = ranks([equal, update(2, batch="x", gradients="h")], [update(1, batch="a", gradients="y")])
    assert first_difference(first, late).rank == 1
    both = ranks([equal, update(2, batch="x", gradients="y")], [equal, update(2, batch="x", gradients="y")])
    assert first_difference(first, both).rank == 0


def test_a_process_that_trains_alone_is_no_rank():
    found = first_difference(trace(update(1, batch="a")), trace(update(1, batch="b")))
    assert (found.rank, found.place) == (None, "update 1")
