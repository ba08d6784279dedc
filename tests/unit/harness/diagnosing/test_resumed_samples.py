"""The cause that `diagnose --resume` names by the first wrong sample."""

import pytest

from reprokit.diagnosis import HookTrace
from reprokit.errors import CannotJudgeError
from reprokit.harness.diagnosing.resumed_samples import wrong_loader

LOADER = {"file": "train.py", "line": 22, "function": "main"}


def _trace(*updates, began="p0", first=0):
    records = [
        {"update": n, "parameters": f"p{first + n}", "samples": {"ids": ids, "contents": contents}}
        for n, (ids, contents) in enumerate(updates, start=1)
    ]
    ledger = {"began_with": began, "updates": records, "loaders": [LOADER]}
    return HookTrace(sites={}, files={}, processes=1, started=1, facts={"ledger": ledger})


WHOLE = _trace(("5,9", "a" * 32), ("7,0", "b" * 32), ("8,1", "c" * 32))


def _found(whole, resumed, again=None):
    return wrong_loader(whole, resumed, again=again or whole)


def _cause(*traces):
    return _found(*traces).cause


def test_a_loader_that_begins_anew_is_the_cause():
    cause = _cause(WHOLE, _trace(("5,9", "a" * 32), began="p2", first=2))
    assert (cause.category, cause.file, cause.line) == ("resume_state", "train.py", 22)
    assert "update 3 trained on samples 5, 9 again" in cause.what
    assert "the place of its sampler" in cause.fix


def test_a_loader_whose_workers_draw_from_another_generator_is_the_cause():
    cause = _cause(WHOLE, _trace(("8,1", "c" * 16 + "d" * 16), began="p2", first=2))
    assert "what this loader draws is not restored: update 3 trained on sample 1" in cause.what
    assert "generator that its workers are seeded from" in cause.fix


def test_equal_samples_and_programs_without_loaders_have_no_cause():
    assert _found(WHOLE, _trace(("8,1", "c" * 32), began="p2", first=2)) is None
    assert _found(WHOLE, HookTrace.empty()) is None


def test_a_damaged_ledger_is_no_cause():
    with pytest.raises(CannotJudgeError):
        _found(WHOLE, _trace(("x", ""), began="p2", first=2))


def test_the_first_wrong_update_is_named_where_no_metric_shows_it():
    found = _found(WHOLE, _trace(("8,2", "c" * 32), began="p2", first=2)).divergence
    assert (found.metric, found.step) == ("the samples of update 3", 3)
    assert (found.expected, found.actual) == (1, 2)


def test_what_two_whole_runs_do_not_share_either_was_not_lost_by_resuming():
    resumed, again = _trace(("8,2", "c" * 32), began="p2", first=2), _trace(("5,8", "a" * 32))
    assert _found(WHOLE, resumed, again) is None
