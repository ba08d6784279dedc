"""Which of a loop's variables did not come back after a program was resumed."""

from reprokit.diagnosis import Trace, lost_states

SOURCE = "def main():\n    velocity = 0\n    step = 0\n    while step < 5:\n        velocity += 1\n"


def _trace(file, rounds):
    return Trace(sites={}, files={}, processes=1, started=1, facts={"loops": {f"{file}|4|main": rounds}})


def _rounds(file, **values):
    names = list(values)
    return [dict(zip(names, one, strict=True)) for one in zip(*values.values(), strict=True)]


def test_the_variable_that_begins_anew_is_named_with_the_line_before_the_loop(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SOURCE)
    whole = _trace(file, _rounds(file, step="01234", weights="abcde", velocity="vwxyz", rate="rrrrr"))
    resumed = _trace(file, _rounds(file, step="34", weights="de", velocity="vw", rate="rr"))
    (lost,) = lost_states(whole, resumed)
    assert (lost.name, lost.line, lost.round) == ("velocity", 2, 3)


def test_a_run_that_goes_on_as_if_nothing_had_been_has_lost_nothing(tmp_path):
    whole = _trace("t.py", _rounds("t.py", step="01234", weights="abcde"))
    resumed = _trace("t.py", _rounds("t.py", step="34", weights="de"))
    assert lost_states(whole, resumed) == ()


def test_what_never_changes_in_the_loop_is_no_state(tmp_path):
    whole = _trace("t.py", _rounds("t.py", step="01234", first="00000"))
    resumed = _trace("t.py", _rounds("t.py", step="34", first="33"))
    assert lost_states(whole, resumed) == ()
