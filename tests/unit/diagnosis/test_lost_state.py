"""Which of a loop's variables did not come back after a program was resumed."""

from reprokit.diagnosis import HookTrace, lost_states, where_begun

SOURCE = "def main():\n    velocity = 0\n    step = 0\n    while step < 5:\n        velocity += 1\n"


def _trace(file, rounds):
    return HookTrace(sites={}, files={}, processes=1, started=1, facts={"loops": {f"{file}|4|main": rounds}})


def _rounds(file, **values):
    names = list(values)
    return [dict(zip(names, one, strict=True)) for one in zip(*values.values(), strict=True)]


def test_the_variable_that_begins_anew_is_named_with_the_line_before_the_loop(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    whole = _trace(file, _rounds(file, step="01234", weights="abcde", velocity="vwxyz", rate="rrrrr"))
    resumed = _trace(file, _rounds(file, step="34", weights="de", velocity="vw", rate="rr"))
    (lost,) = lost_states(whole, resumed, again=whole)
    assert (lost.name, lost.line, lost.round) == ("velocity", 2, 3)


def test_a_run_that_goes_on_as_if_nothing_had_been_has_lost_nothing(tmp_path):
    whole = _trace("t.py", _rounds("t.py", step="01234", weights="abcde"))
    resumed = _trace("t.py", _rounds("t.py", step="34", weights="de"))
    assert lost_states(whole, resumed, again=whole) == ()


def test_what_never_changes_in_the_loop_is_no_state(tmp_path):
    whole = _trace("t.py", _rounds("t.py", step="01234", first="00000"))
    resumed = _trace("t.py", _rounds("t.py", step="34", first="33"))
    assert lost_states(whole, resumed, again=whole) == ()


def test_names_that_neither_round_has_do_not_count_as_alike(tmp_path):
    first = {"step": "0", "speed": "v", "best": "b"}
    later = [
        {"step": at, "weights": at + "w", "speed": at + "v", "best": at + "b", "g": at, "loss": at}
        for at in "123"
    ]
    whole = _trace("t.py", [{**first, "weights": "0w"}, *later])
    resumed = _trace("t.py", [{"step": "2", "weights": "2w", "speed": "v", "best": "b"}])
    resumed.facts["loops"]["t.py|4|main"][0]["rng"] = "r2"
    for at, one in zip(["r0", "r1", "r2", "r3"], whole.facts["loops"]["t.py|4|main"], strict=True):
        one["rng"] = at
    assert {one.name for one in lost_states(whole, resumed, again=whole)} == {"speed", "best"}


def test_what_differs_between_two_whole_runs_is_no_state(tmp_path):
    whole = _trace("t.py", _rounds("t.py", step="01234", weights="abcde", elapsed="pqrst"))
    again = _trace("t.py", _rounds("t.py", step="01234", weights="abcde", elapsed="PQRST"))
    resumed = _trace("t.py", _rounds("t.py", step="34", weights="de", elapsed="xy"))
    assert lost_states(whole, resumed, again=again) == ()


def _begun(resumed, *, stopped="012", whole="01234"):
    traces = [_trace("t.py", _rounds("t.py", step=one)) for one in (whole, stopped, resumed)]
    return where_begun(*traces, again=traces[0])


def test_a_loop_that_goes_on_at_a_later_round_began_later():
    assert _begun("34") == "later"


def test_a_loop_that_makes_every_round_again_began_anew():
    assert _begun("01234") == "anew"


def test_a_loop_that_was_not_cut_short_tells_nothing():
    assert _begun("01234", stopped="01234") == "unknown"


def test_a_loop_whose_rounds_are_unlike_any_tells_nothing():
    assert _begun("xyz") == "unknown"
