"""A resumed program's samples are told as the whole run's, however it counts its updates and its loaders."""

from reprokit.core.sampling.resumed_ledger import continued
from reprokit.core.sampling.samples import first_wrong_sample

TRAIN, SKIP, EVALUATE = ({"file": "train.py", "line": line, "used_at": 30} for line in (9, 22, 25))


def _ledger(*batches, first=1, name="samples"):
    return [
        {"update": n, name: {"ids": ",".join(map(str, ids))}} for n, ids in enumerate(batches, start=first)
    ]


WHOLE = _ledger([5, 9, 2], [7, 0, 4], [8, 1, 3], [6, 10, 11])


def _after(records):
    return [{**one, "parameters": {"w": f"p{one['update']}"}} for one in records]


def test_a_resumed_program_is_numbered_from_the_parameters_that_it_began_with():
    whole, resumed = _after(WHOLE), _ledger([8, 1, 3], [7, 0, 4])
    numbered = continued(whole, resumed, began_with={"w": "p2"})
    assert [one["update"] for one in numbered] == [3, 4]
    assert first_wrong_sample(whole, numbered).told.startswith("update 4 trained on samples 7, 0, 4 again")


def test_batches_that_a_resumed_loop_goes_past_are_not_those_of_its_first_update():
    whole, resumed = _after(WHOLE), _ledger([5, 9, 2, 7, 0, 4, 8, 1, 3], [6, 10, 11])
    assert first_wrong_sample(whole, continued(whole, resumed, began_with={"w": "p2"})) is None
    short = _ledger([5, 9, 2, 7, 0, 4], [8, 1, 3])
    found = first_wrong_sample(whole, continued(whole, short, began_with={"w": "p2"}))
    assert (found.update, found.how) == (3, "again")


def test_a_resumed_program_that_began_with_other_parameters_has_no_place():
    assert continued(_after(WHOLE), WHOLE, began_with={"w": "else"}) is None


def _numbered(whole, resumed, loaders):
    return continued(whole, resumed, began_with={"w": "p2"}, loaders=loaders)


def _fed_by(number, ids):
    return {("samples" if number == 1 else f"samples_{number}"): {"ids": ids}}


def test_a_loader_that_only_a_resumed_run_makes_is_held_against_the_one_that_it_stands_for():
    whole = _after(WHOLE)
    loaders = ([TRAIN], [SKIP, TRAIN])
    resumed = [{"update": 1, **_fed_by(1, "8,1,3")}, {"update": 2, **_fed_by(2, "6,10,11")}]
    assert first_wrong_sample(whole, _numbered(whole, resumed, loaders)) is None
    resumed[1] |= _fed_by(2, "7,0,4")
    found = first_wrong_sample(whole, _numbered(whole, resumed, loaders))
    assert (found.update, found.how, found.ledger) == (4, "again", "samples_2")


def test_loaders_are_known_by_their_lines_and_not_by_which_is_used_first():
    whole = _after([{**one, **_fed_by(2, "0-3")} for one in WHOLE])
    loaders = ([TRAIN, EVALUATE], [EVALUATE, TRAIN])
    resumed = [{"update": 1, **_fed_by(1, "0-3"), **_fed_by(2, "8,1,3")}]
    assert first_wrong_sample(whole, _numbered(whole, resumed, loaders)) is None


def test_two_loaders_that_feed_one_update_of_a_resumed_run_are_read_one_after_the_other():
    whole, loaders = _after(WHOLE), ([TRAIN], [SKIP, TRAIN])
    resumed = [{"update": 1, **_fed_by(1, "8,1"), **_fed_by(2, "3")}]
    assert first_wrong_sample(whole, _numbered(whole, resumed, loaders)) is None


def test_a_loader_that_evaluates_before_a_resumed_run_trains_feeds_no_update():
    whole = _after([*WHOLE[:3], {**WHOLE[3], **_fed_by(2, "0-3")}])
    loaders = ([TRAIN, EVALUATE], [EVALUATE, TRAIN])
    resumed = [{"update": 1, **_fed_by(1, "0-3"), **_fed_by(2, "8,1,3")}]
    assert first_wrong_sample(whole, _numbered(whole, resumed, loaders)) is None


BOTH = ([TRAIN, TRAIN], [TRAIN, TRAIN])


def test_of_two_loaders_that_one_line_made_each_is_held_against_itself_whichever_is_used_first():
    whole = _after(WHOLE)
    whole[2] |= _fed_by(2, "0-11")
    resumed = [{"update": 1, **_fed_by(2, "8,1,3")}, {"update": 2, **_fed_by(2, "6,10,11")}]
    assert first_wrong_sample(whole, _numbered(whole, resumed, BOTH)) is None
    resumed[1] |= _fed_by(1, "0-11")
    assert first_wrong_sample(whole, _numbered(whole, resumed, BOTH)) is None


def test_of_two_loaders_that_one_line_made_the_wrong_one_is_named():
    whole = _after([{**one, **_fed_by(2, "0-3")} for one in WHOLE])
    resumed = [{"update": 1, **_fed_by(1, "0-3"), **_fed_by(2, "7,0,4")}]
    found = first_wrong_sample(whole, _numbered(whole, resumed, BOTH))
    assert (found.update, found.how, found.ledger) == (3, "again", "samples_2")
    alone = [{"update": 1, **_fed_by(2, "7,0,4")}]
    found = first_wrong_sample(whole, _numbered(whole, alone, BOTH))
    assert (found.update, found.how) == (3, "again")


def test_a_second_loader_of_the_line_does_not_hide_what_the_first_lost():
    whole = _after(WHOLE)
    for extra in ("0-3", "7,0,4"):
        resumed = [{"update": 1, **_fed_by(1, "7,0,4"), **_fed_by(2, extra)}]
        assert first_wrong_sample(whole, _numbered(whole, resumed, BOTH)).update == 3


def test_what_the_whole_run_read_before_the_stop_and_after_the_update_is_no_loss():
    whole = _after(WHOLE)
    whole[2] |= _fed_by(2, "4-7,0-3")
    for ids, wrong in (("0-3", None), ("4-7", 3), ("0-2", 3)):
        resumed = [{"update": 1, **_fed_by(1, "8,1,3"), **_fed_by(2, ids)}]
        found = first_wrong_sample(whole, _numbered(whole, resumed, ([TRAIN, EVALUATE],) * 2))
        assert (found and found.update) == wrong
    whole[2] = {**whole[2], **_fed_by(1, "7,0,4,8,1,3")}
    resumed = [{"update": 1, **_fed_by(1, "8,1,3")}, {"update": 2, **_fed_by(1, "8,1,3")}]
    assert first_wrong_sample(whole, _numbered(whole, resumed, ([TRAIN],) * 2)).update == 4


def test_what_a_loader_evaluates_before_the_first_update_is_no_loss_and_after_it_is():
    evaluate, train = {**EVALUATE, "batches": 6, "without_gradients": 6}, {**TRAIN, "batches": 4}
    loaders = ([evaluate, train],) * 2
    whole = _after([{**one, **_fed_by(2, one["samples"]["ids"]), **_fed_by(1, "0-3")} for one in WHOLE])
    resumed = [{**one, "update": one["update"] - 2} for one in whole[2:]]
    resumed[0] |= _fed_by(1, "0-1")
    assert first_wrong_sample(whole, _numbered(whole, resumed, loaders)) is None
    resumed[1] |= _fed_by(1, "0-1")
    assert first_wrong_sample(whole, _numbered(whole, resumed, loaders)).update == 4
    resumed[0] |= _fed_by(2, "7,0,4")
    assert first_wrong_sample(whole, _numbered(whole, resumed, loaders)).update == 3


def test_samples_of_the_only_loader_count_though_they_were_read_without_gradients():
    whole, only = _after(WHOLE), {**TRAIN, "batches": 4, "without_gradients": 4}
    resumed = [{"update": 1, **_fed_by(1, "7,0,4")}]
    assert first_wrong_sample(whole, _numbered(whole, resumed, ([only],) * 2)).update == 3
