"""Which suspicions are causes, and which were equal by luck: with a laboratory whose program is known."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest

from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.experiments import explain
from reprokit.harness.diagnosing.inquiry import HASH_SEED, Investigation
from reprokit.harness.diagnosing.order_of_work import _equal_by_luck
from reprokit.variations import Variation
from support.known_program_lab import CLOCK, ENTROPY, Lab, asked


@pytest.mark.parametrize("cause", [CLOCK, ENTROPY])
def test_the_line_that_reaches_the_number_is_the_cause_with_high_confidence(cause):
    inquiry = asked(Lab(lambda drawn, *_: drawn[cause]))
    assert explain(inquiry) == (cause,)
    assert inquiry.confidence == "high"


LIBRARIES = tuple(f"library_clock|train.py|{line}" for line in range(10, 22))


@pytest.mark.parametrize(("cause", "most"), [(ENTROPY, 9), (LIBRARIES[3], 14)])
def test_a_line_is_found_in_few_runs_beside_many_that_call_libraries_which_read_the_clock(cause, most):
    lab = Lab(lambda drawn, *_: drawn[cause], names=(CLOCK, ENTROPY, *LIBRARIES), digits=12)
    assert explain(asked(lab)) == (cause,)
    assert lab.made <= most


@pytest.mark.parametrize(("cause", "names"), [(ENTROPY, (CLOCK, ENTROPY)), (LIBRARIES[3], LIBRARIES)])
def test_how_many_runs_it_takes_is_foretold_to_a_few(cause, names):
    lab = Lab(lambda drawn, *_: drawn[cause], names=names, digits=12)
    foretold = []
    lab.progress.phase = lambda _: None
    run = lab.run
    lab.run = lambda *given: (foretold.append(lab.about), run(*given))[1]
    explain(asked(lab))
    known = [about for about in foretold if about]
    assert len(known) == lab.made - 2  # whether two runs are equal, no one knows before
    assert all(abs(about - lab.made) <= 4 for about in known)


@pytest.mark.parametrize(
    ("differs_in", "made"),
    [(lambda run: run == 6, 6), (lambda run: False, 12)],  # 2, and 10 more
)
def test_a_quick_program_that_draws_and_is_equal_is_run_again_until_it_differs(differs_in, made):
    lab = Lab(lambda drawn, run, given: differs_in(run))
    first, second = (lab.run(name, Conditions()) for name in ("first", "second"))
    last = _equal_by_luck(Investigation(lab=lab, first=first, other=second), second, Conditions())
    assert (lab.made, lab.equal(first, last)) == (made, made == 12)


def test_a_program_that_takes_long_is_not_run_again():
    lab = Lab(lambda *_: 0)
    first, second = (replace(lab.run(name, Conditions()), duration_s=30) for name in ("first", "second"))
    assert _equal_by_luck(Investigation(lab=lab, first=first, other=second), second, Conditions()) is second


@pytest.mark.parametrize(("packages", "made"), [(["fasttext_pybind"], 4), ([], 2)])
def test_where_nothing_that_was_recorded_differs_compiled_code_of_others_is_run_twice_more(packages, made):
    lab = Lab(lambda *_: 0, names=())
    first, second = (lab.run(name, Conditions()) for name in ("first", "second"))
    first = replace(first, trace=replace(first.trace, facts={"limits 0": {"extensions": packages}}))
    _equal_by_luck(Investigation(lab=lab, first=first, other=second), second, Conditions())
    assert lab.made == made


def hidden(*different):
    return lambda drawn, run, given: run in different


@pytest.mark.parametrize("different", [(2,), (2, 9, 14), (2, 7, 8, 15, 20)])
def test_a_rare_cause_that_nobody_sees_is_not_laid_to_a_line_that_was_held_when_runs_were_equal(different):
    inquiry = asked(Lab(hidden(*different)))
    assert explain(inquiry) is None
    assert inquiry.confidence == "medium"
    assert "suspected, not proven" in inquiry.known[0]


def test_where_the_runs_differ_by_rounding_and_all_that_is_held_is_not_enough_one_run_shows_it():
    lab = Lab(lambda drawn, run, given: run * 1e-9, names=(CLOCK, *LIBRARIES))
    assert explain(asked(lab)) is None
    assert lab.made == 3


def test_where_all_that_is_held_was_equal_by_luck_no_line_is_looked_for_any_more():
    """The third and the fourth run equal the first, the others do not."""
    lab = Lab(lambda drawn, run, given: 1 if run in {1, 3, 4} else run, names=(CLOCK, *LIBRARIES))
    assert explain(asked(lab)) is None
    assert lab.made < 12


def test_of_runs_that_were_cut_only_those_are_remembered_that_differed_in_their_beginning():
    inquiry = asked(Lab(lambda drawn, *_: drawn[CLOCK]))
    inquiry.held_runs += [(frozenset([CLOCK]), True), (frozenset([ENTROPY]), False)]
    inquiry.forget_runs(but_different=True)
    assert inquiry.held_runs == [(frozenset([ENTROPY]), False)]


def test_a_cause_that_is_rare_but_seen_is_found():
    """About one run in six differs; what it drew is given to others, which then differ as it does."""
    number = lambda drawn, *_: drawn[ENTROPY] % 60 == 21  # noqa: E731
    inquiry = asked(Lab(number))
    assert not inquiry.lab.equal(inquiry.first, inquiry.other)
    assert explain(inquiry) == (ENTROPY,)


def test_of_two_lines_that_each_suffice_the_nearer_is_named_and_is_only_probable():
    """The number is another only where both are."""
    first = {}

    def number(drawn, *_):
        first.setdefault("is", dict(drawn))
        return all(drawn[name] != first["is"][name] for name in drawn)

    inquiry = asked(Lab(number))
    assert explain(inquiry) == (ENTROPY,)
    assert inquiry.confidence == "medium"
    assert "equal even where this is left free" in inquiry.ruled_out[0].how


def varied(lab):
    change = Variation(
        name="hostname", says="the host's name", category="environment", fix="", vary=("hostname",)
    )
    return replace_other(asked(lab), change)


def replace_other(inquiry, change):
    other = inquiry.lab.run("all-varied", replace(Conditions(like=inquiry.first), vary=change.vary))
    inquiry.other, inquiry.variations = other, (change,)
    return inquiry


def test_a_variation_is_a_cause_where_the_runs_differ_each_time_that_it_is_made():
    inquiry = varied(Lab(lambda drawn, run, given: bool(given.vary)))
    assert explain(inquiry) == ("variation hostname",)


def test_a_rare_line_that_a_varied_run_happened_to_show_is_the_cause_and_not_the_variation():
    """One varied run drew what makes another number; given its draw, every run makes it."""
    lab = Lab(lambda drawn, *_: drawn[ENTROPY] == 31)
    inquiry = varied(lab)
    assert not lab.equal(inquiry.first, inquiry.other)
    assert explain(inquiry) == (ENTROPY,)


def test_a_variation_is_no_cause_where_only_one_run_differed():
    inquiry = varied(Lab(hidden(3)))
    assert explain(inquiry) is None
    assert "suspected, not proven" in inquiry.known[0]


def test_the_hash_seed_is_a_cause_where_the_other_runs_seed_makes_the_other_run():
    number = {"1-first": 1, "2-other": 2}
    lab = Lab(lambda drawn, run, given: number[given.like.label] if given.hash_seed else run)
    lab.hash_is_fixed = False
    assert explain(asked(lab)) == (HASH_SEED,)


SURROUNDINGS = tuple(
    Variation(name=f"v{at}", says=f"surrounding {at}", category="environment", fix="", vary=(f"v{at}",))
    for at in range(20)
)


def in_other_surroundings(number):
    """Two runs that are equal, and one more in which twenty conditions were varied."""
    lab = Lab(lambda drawn, run, given: number(set(given.vary)), digits=12)
    inquiry = asked(lab)
    given = replace(Conditions(like=inquiry.first), vary=tuple(one.vary[0] for one in SURROUNDINGS))
    inquiry.other, inquiry.variations = lab.run("all-varied", given), SURROUNDINGS
    return inquiry


PAIRS = [(one, other) for one in range(0, 20, 3) for other in range(one + 1, 20, 2)]


def test_a_cause_that_needs_two_surroundings_at_once_is_both_in_few_runs():
    made = []
    for pair in PAIRS:
        both = {f"v{at}" for at in pair}
        inquiry = in_other_surroundings(lambda varied, both=both: varied >= both)
        assert explain(inquiry) == tuple(f"variation v{at}" for at in pair)
        assert "together" in inquiry.known[0]
        made.append(inquiry.lab.made)
    assert median(made) <= 17
    assert max(made) <= 20


def test_two_surroundings_of_which_either_is_enough_are_both_named():
    made = []
    for pair in PAIRS:
        either = {f"v{at}" for at in pair}
        inquiry = in_other_surroundings(lambda varied, either=either: sorted(varied & either))
        assert explain(inquiry) == tuple(f"variation v{at}" for at in pair)
        assert not inquiry.known
        made.append(inquiry.lab.made)
    assert median(made) <= 17
    assert max(made) <= 20


@pytest.mark.parametrize("at", range(20))
def test_one_of_twenty_surroundings_is_found_in_few_runs(at):
    inquiry = in_other_surroundings(lambda varied: f"v{at}" in varied)
    assert explain(inquiry) == (f"variation v{at}",)
    assert inquiry.lab.made <= 13


def test_a_line_that_often_draws_the_same_number_is_not_said_to_need_a_surrounding_besides():
    """Two runs were equal by luck; the varied one differs by its draw alone."""
    wrong = 0
    for most in range(1, 8):
        lab = Lab(lambda drawn, run, given, most=most: drawn[ENTROPY] * 7919 % 11 > most)
        inquiry = asked(lab)
        given = replace(Conditions(like=inquiry.first), vary=("v0",))
        inquiry.other, inquiry.variations = lab.run("all-varied", given), SURROUNDINGS[:1]
        if not lab.equal(inquiry.first, inquiry.other):
            found = explain(inquiry)
            wrong += found not in {None, (ENTROPY,)}
    assert wrong == 0
