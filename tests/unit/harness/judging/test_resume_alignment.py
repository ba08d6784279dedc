"""A resumed run's records against the whole run's, from its own first step on."""

import json
from fractions import Fraction

import pytest

from reprokit.errors import CannotJudgeError
from reprokit.harness.judging.resumed.resume_alignment import is_cut_short, rejoined, wrote_alike

LOSSES = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]


def _log(folder, steps, losses=None, *, named=True):
    folder.mkdir()
    records = [{"step": at, "loss": (losses or LOSSES)[at]} for at in steps]
    if not named:
        records = [{"loss": one["loss"]} for one in records]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return folder


@pytest.fixture
def answer(tmp_path):
    def make(*, stopped, resumed, losses=None, **how):
        return rejoined(
            _log(tmp_path / "whole", range(6), **how),
            _log(tmp_path / "stopped", stopped, **how),
            _log(tmp_path / "resumed", resumed, losses, **how),
        )

    return make


def test_a_log_of_only_the_later_steps_is_held_against_those_steps(answer):
    found = answer(stopped=range(3), resumed=range(3, 6))
    assert found.divergence is None
    assert not found.from_the_first


def test_a_difference_in_the_later_steps_is_told_with_its_step(answer):
    found = answer(stopped=range(3), resumed=range(3, 6), losses=[0, 0, 0, 0.6, 0.55, 0.4])
    assert (found.divergence.step, found.divergence.metric, found.divergence.record) == (4, "loss", 4)


def test_a_log_that_ends_too_early_differs(answer):
    assert answer(stopped=range(3), resumed=range(3, 5)).divergence.step == 5


def test_a_log_that_is_carried_on_is_compared_from_its_first_record(answer):
    found = answer(stopped=range(3), resumed=range(6), losses=[*LOSSES[:3], 0.6, 0.55, 0.4])
    assert (found.divergence.step, found.from_the_first, found.before_the_stop) == (4, True, False)


def test_a_difference_among_the_stopped_runs_own_records_is_told_apart(answer):
    found = answer(stopped=range(3), resumed=range(6), losses=[0.9, 0.85, *LOSSES[2:]])
    assert found.before_the_stop


@pytest.mark.parametrize("named", [True, False])
def test_a_run_that_reaches_the_last_record_was_not_stopped(tmp_path, named):
    whole, stopped = (_log(tmp_path / name, range(6), named=named) for name in ("whole", "stopped"))
    assert not is_cut_short(whole, stopped)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("steps", [range(5), range(0)])
def test_a_run_that_ends_on_the_way_was_stopped(tmp_path, named, steps):
    whole = _log(tmp_path / "whole", range(6), named=named)
    assert is_cut_short(whole, _log(tmp_path / "stopped", steps, named=named))


def test_without_a_stopped_run_records_are_aligned_by_their_steps(tmp_path):
    whole = _log(tmp_path / "whole", range(6))
    same = _log(tmp_path / "same", range(2, 6))
    other = _log(tmp_path / "other", range(2, 6), [0, 0, 0.7, 0.6, 0.55, 0.4])
    assert rejoined(whole, None, same).divergence is None
    assert rejoined(whole, None, other).divergence.step == 4


def test_records_without_steps_that_are_not_carried_on_cannot_be_aligned(answer):
    with pytest.raises(CannotJudgeError, match="no step numbers"):
        answer(stopped=range(3), resumed=range(3, 6), named=False)


def test_records_without_steps_are_compared_where_they_are_carried_on(answer):
    assert answer(stopped=range(3), resumed=range(6), named=False).divergence is None


def test_a_resumed_run_without_records_cannot_be_judged(answer):
    with pytest.raises(CannotJudgeError, match="empty"):
        answer(stopped=range(3), resumed=[])


def test_a_first_step_that_the_whole_run_has_not_cannot_be_aligned(tmp_path):
    losses = [*LOSSES, 0.3, 0.2]
    folders = [
        _log(tmp_path / name, steps, losses)
        for name, steps in {"whole": range(6), "stopped": range(3), "resumed": [7]}.items()
    ]
    with pytest.raises(CannotJudgeError, match="begins at step 7"):
        rejoined(*folders)


def test_steps_that_fall_cannot_be_aligned(answer):
    with pytest.raises(CannotJudgeError, match="do not increase"):
        answer(stopped=range(3), resumed=[3, 5, 4])


def _beside_checkpoint(folder, name, losses):
    (folder / name).mkdir()
    records = [{"step": at, "loss": loss} for at, loss in enumerate(losses)]
    (folder / name / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))


def _with_checkpoints(tmp_path, *, stopped):
    """Three runs; the whole and the stopped one left a log next to a checkpoint before the stop."""
    made = [
        _log(tmp_path / name, steps)
        for name, steps in (("whole", range(6)), ("stopped", range(3)), ("resumed", range(3, 6)))
    ]
    _beside_checkpoint(made[0], "checkpoint-2", LOSSES[:2])
    if stopped is not None:
        _beside_checkpoint(made[1], "checkpoint-2", stopped)
    return made


def test_a_log_that_was_whole_before_the_stop_need_not_be_in_the_resumed_run(tmp_path):
    assert rejoined(*_with_checkpoints(tmp_path, stopped=LOSSES[:2])).divergence is None


@pytest.mark.parametrize("stopped", [None, LOSSES[:1], [0.9, 0.85]])
def test_a_log_that_the_stopped_run_has_otherwise_or_not_is_missed_in_the_resumed_one(tmp_path, stopped):
    with pytest.raises(CannotJudgeError, match="logs differ"):
        rejoined(*_with_checkpoints(tmp_path, stopped=stopped))


@pytest.mark.parametrize(
    ("beside", "may_lack"),
    [
        ([{"step": 1, "loss": 0.8}], True),
        ([], True),
        ([{"step": 3, "loss": 0.6}], False),
        ([{"step": 1}, {"loss": 0.1}], False),
        ([{"epoch": 1, "loss": 0.8}], False),
    ],
    ids=["of earlier steps", "empty", "of a later step", "a record without a step", "of other steps"],
)
def test_without_a_stopped_run_a_log_of_steps_before_the_resumed_ones_need_not_be_there(
    tmp_path, beside, may_lack
):
    whole, resumed = _log(tmp_path / "whole", range(6)), _log(tmp_path / "resumed", range(3, 6))
    (whole / "checkpoint-2").mkdir()
    state = {"log_history": beside, "global_step": 2}
    (whole / "checkpoint-2" / "trainer_state.json").write_text(json.dumps(state))
    if may_lack:
        assert rejoined(whole, None, resumed).divergence is None
    else:
        with pytest.raises(CannotJudgeError, match="logs differ"):
            rejoined(whole, None, resumed)


def test_runs_wrote_alike_where_their_records_have_the_same_steps(tmp_path):
    one = _log(tmp_path / "one", range(3))
    assert wrote_alike(one, _log(tmp_path / "other", range(3), [1, 2, 3]))
    assert not wrote_alike(one, _log(tmp_path / "longer", range(4)))
    assert not wrote_alike(one, _log(tmp_path / "later", range(1, 4)))


HALF = [Fraction(1, 2)]


def _numbered_anew(tmp_path, steps, losses):
    whole, stopped = _log(tmp_path / "whole", range(6)), _log(tmp_path / "stopped", range(3))
    resumed = tmp_path / "resumed"
    resumed.mkdir()
    records = [{"step": at, "loss": loss} for at, loss in zip(steps, losses, strict=True)]
    (resumed / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return whole, stopped, resumed


@pytest.mark.parametrize(("last", "record"), [(0.4, None), (0.3, 5)])
def test_records_that_are_numbered_anew_are_the_last_ones_where_half_of_the_updates_were_made(
    tmp_path, last, record
):
    logs = _numbered_anew(tmp_path, range(3), [0.6, 0.5, last])
    found = rejoined(*logs, shares=HALF)
    assert (found.from_the_first, found.divergence and found.divergence.record) == (False, record)
    assert rejoined(*logs).before_the_stop


def test_records_without_steps_are_the_last_ones_where_half_of_the_updates_were_made(tmp_path):
    whole, stopped = (_log(tmp_path / name, range(end), named=False) for name, end in (("w", 6), ("s", 3)))
    resumed = _log(tmp_path / "resumed", range(3, 6), named=False)
    assert rejoined(whole, stopped, resumed, shares=HALF).divergence is None
    for shares in ([], [Fraction(1, 3)]):
        with pytest.raises(CannotJudgeError, match="no step numbers"):
            rejoined(whole, stopped, resumed, shares=shares)


def test_steps_of_their_own_place_records_whatever_the_updates_say(answer):
    found = answer(stopped=range(3), resumed=range(2, 5))
    assert found.divergence.step == 5


def test_a_log_that_holds_steps_twice_is_refused_or_where_that_is_asked_for_differs(answer, tmp_path):
    with pytest.raises(CannotJudgeError, match="steps do not increase"):
        answer(stopped=range(4), resumed=[0, 1, 2, 3, 2, 3, 4, 5])
    found = rejoined(*(tmp_path / name for name in ("whole", "stopped", "resumed")), may_repeat=True)
    assert found.twice == {"metrics.jsonl": (2, 3)}
    assert (found.divergence.record, found.from_the_first, found.before_the_stop) == (4, True, False)


@pytest.mark.parametrize("losses", [[*LOSSES[:5], 0.3], [0.9, 0.8, 0.7, 0.65, 0.5, 0.4]])
def test_a_log_with_steps_twice_is_not_explained_where_other_numbers_differ(tmp_path, losses):
    folders = [_log(tmp_path / "whole", range(6)), _log(tmp_path / "stopped", range(4))]
    folders.append(_log(tmp_path / "resumed", [0, 1, 2, 3, 2, 3, 4, 5], losses))
    with pytest.raises(CannotJudgeError, match="steps do not increase"):
        rejoined(*folders, may_repeat=True)
