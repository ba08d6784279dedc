"""The first wrong sample of two ledgers is named, and what the update did in place of the right one."""

import pytest

from reprokit.core.sampling.samples import first_wrong_sample, read_ids


def _ledger(*batches, first=1, **more):
    return [
        {"update": n, "step": 10 * n, "samples": {"ids": ",".join(map(str, ids)), **more}}
        for n, ids in enumerate(batches, start=first)
    ]


WHOLE = _ledger([5, 9, 2], [7, 0, 4], [8, 1, 3], [6, 10, 11])


@pytest.mark.parametrize(
    ("third", "how", "told"),
    [
        (
            [7, 0, 4],
            "again",
            "update 3 trained on samples 7, 0, 4 again, those of update 2; expected 8, 1, 3",
        ),
        ([6, 10, 11], "skipped", "update 3 skipped samples 8, 1, 3 and trained on 6, 10, 11, of update 4"),
        ([8, 3, 1], "order", "update 3 trained on its samples in a different order: 3, 1, expected 1, 3"),
        ([8, 1, 99], "other", "update 3 trained on sample 99, expected 3"),
        (
            [8, 1, 8],
            "other",
            "update 3 trained on sample 8 more often than expected and not on sample 3",
        ),
        ([1, 3, 6], "other", "update 3 trained on sample 1, 3, 6, expected 8, 1, 3"),
        ([8, 1], "missing", "update 3 did not train on sample 3"),
        ([8, 1, 3, 6], "extra", "update 3 trained on sample 6 too, which the other run did not"),
        (
            [0, 4, 8],
            "again",
            "update 3 trained on samples 0, 4, 8 again, those of update 2; expected 8, 1, 3",
        ),
    ],
)
def test_what_an_update_did_in_place_of_the_right_samples_is_told(third, how, told):
    found = first_wrong_sample(WHOLE, _ledger([5, 9, 2], [7, 0, 4], third, [6, 10, 11]))
    assert (found.update, found.step, found.how, found.told) == (3, 30, how, told)


def test_equal_ledgers_have_no_wrong_sample():
    assert first_wrong_sample(WHOLE, WHOLE) is None


def test_a_trace_without_a_ledger_says_nothing_of_samples():
    assert first_wrong_sample(WHOLE, [{"update": 1, "step": 10}]) is None


def test_updates_of_a_thinned_trace_are_found_by_their_number():
    found = first_wrong_sample([WHOLE[0], WHOLE[2]], _ledger([5, 9, 2], [7, 0, 4], [7, 1, 3]))
    assert (found.update, found.expected, found.actual) == (3, 8, 7)


def test_samples_of_another_worker_are_called_that():
    whole = [
        {"update": n, "samples": {"ids": ids, "worker": n % 2}} for n, ids in enumerate(["0-3", "40-43"], 1)
    ]
    found = first_wrong_sample(whole, [{"update": 1, "samples": {"ids": "40-43", "worker": 0}}])
    assert found.how == "worker"
    assert found.told.startswith("update 1 trained on another worker's samples 40, 41, 42, 43, of update 2")


def test_an_id_that_stands_for_other_content_is_named():
    one, other = _ledger([5, 9], contents="a" * 16 + "b" * 16), _ledger([5, 9], contents="a" * 16 + "c" * 16)
    found = first_wrong_sample(one, other)
    assert (found.how, found.position, found.expected) == ("content", 1, 9)
    assert found.told == "update 1 trained on sample 9, whose contents differ there"


def test_long_lists_are_cut():
    found = first_wrong_sample(_ledger(range(9120, 9130)), _ledger(range(100, 110)))
    assert (
        found.told == "update 1 trained on sample 100, 101, 102, 103.., expected 9,120, 9,121, 9,122, 9,123.."
    )


@pytest.mark.parametrize("ids", ["x", "3-", 7, None, "0-99999999999"])
def test_ids_that_nobody_could_have_written_are_refused(ids):
    with pytest.raises(ValueError, match=r"."):
        read_ids(ids)


def test_ranges_and_negative_ids_are_read():
    assert read_ids("-2-0,7") == (-2, -1, 0, 7)
    assert read_ids(["a", 3]) == ("a", 3)
    assert read_ids("") == ()
