"""Runs are recorded until a rare one and two usual ones are held; the rare one is then replayed."""

import types

import pytest

from reprokit.harness.diagnosing.inquiry import Investigation
from reprokit.harness.diagnosing.rare_pair import is_one_of_few, record_until_one_differs


class Lab:
    """Gives results in turn; two runs are equal where their results are."""

    def __init__(self, results, *, pairs):
        self.results, self.pairs, self.made, self.labels = list(results), pairs, 0, []
        self.progress = types.SimpleNamespace(phase=self.labels.append)

    def can_make(self, _runs):
        return True

    def run(self, _label, _given=None):
        self.made += 1
        result = self.results.pop(0)
        return types.SimpleNamespace(result=result, trouble="", cut=False, label=f"{self.made}")

    def equal(self, one, other):
        return one.result == other.result


def inquiry_of(results, *, pairs=40):
    lab = Lab(results, pairs=pairs)
    return Investigation(lab=lab, first=lab.run("first"), other=lab.run("second"))


def test_the_rare_run_becomes_the_first_and_a_usual_one_the_other():
    inquiry = inquiry_of("aaaaab" + "a" * 40)
    assert record_until_one_differs(inquiry, None)
    assert (inquiry.first.result, inquiry.other.result, inquiry.is_rare) == ("b", "a", True)
    assert inquiry.lab.made == 6
    assert [one.result for one in inquiry.recorded] == ["a"] * 4
    assert inquiry.known == ["1 of 6 recorded runs differs from the others"]


def test_where_the_very_first_run_is_the_rare_one_a_third_tells():
    inquiry = inquiry_of("baa")
    assert record_until_one_differs(inquiry, None)
    assert (inquiry.first.result, inquiry.other.result, inquiry.lab.made) == ("b", "a", 3)


def test_where_every_run_has_a_result_of_its_own_none_is_usual():
    inquiry = inquiry_of("abcdef")
    assert record_until_one_differs(inquiry, None)
    assert (inquiry.is_rare, inquiry.lab.made) == (False, 4)


def test_where_none_differs_the_bound_is_said():
    inquiry = inquiry_of("a" * 10, pairs=10)
    first = inquiry.first
    assert not record_until_one_differs(inquiry, None)
    assert inquiry.known == ["none of 10 recorded runs differs: at most 26% of runs do"]
    assert (inquiry.first, inquiry.free_equal) == (first, 8)


def test_where_a_pair_was_asked_for_nothing_is_recorded():
    inquiry = inquiry_of("ab", pairs=2)
    assert not record_until_one_differs(inquiry, None)
    assert inquiry.lab.made == 2


def test_a_run_that_becomes_the_usual_one_is_no_proof_and_two_that_become_the_rare_one_are():
    inquiry = inquiry_of("a" * 19 + "b")
    record_until_one_differs(inquiry, None)
    for ran in inquiry.recorded:
        inquiry.saw(ran, held=())
    inquiry.given_runs = [(frozenset({"line"}), True)] * 10
    assert inquiry.odds(("line",)).repeated == 0
    assert not inquiry.odds(("line",)).enough
    inquiry.held_runs += [(frozenset({"line"}), True)] * 2
    inquiry.confirmed = 2
    assert inquiry.odds(("line",)).luck == pytest.approx(2 * 1 * 2 / (21 * 22))
    assert inquiry.odds(("line",)).enough


def test_a_usual_run_is_not_one_of_few():
    inquiry = inquiry_of("aab")
    assert is_one_of_few(inquiry, inquiry.first)
    record_until_one_differs(inquiry, None)
    assert is_one_of_few(inquiry, inquiry.first)
    assert not is_one_of_few(inquiry, inquiry.other)
