"""Where a resumed run began, by the variables of its loops."""

from reprokit.diagnosis import HookTrace, where_begun


def _trace(file, rounds):
    return HookTrace(sites={}, files={}, processes=1, started=1, facts={"loops": {f"{file}|4|main": rounds}})


def _rounds(file, **values):
    names = list(values)
    return [dict(zip(names, one, strict=True)) for one in zip(*values.values(), strict=True)]


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
