"""Simple causes: three runs, the first line that matters, and nothing taken for proof that is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reprokit.harness.diagnosing.experiments import explain
from reprokit.harness.diagnosing.inquiry import HASH_SEED, described
from reprokit.harness.diagnosing.simple import look_at_pairs, simple_cause
from support.known_program_lab import CLOCK, ENTROPY, Lab, asked

DRAWN, AGAIN, ORDER = "unseeded|train.py|5", "unseeded|train.py|6", "set_order|train.py|7"
TAKEN = "completion_order|train.py|8"


def inquiry_of(number, names, *, what="", seeded=(), overwritten=(), digits=12):
    inquiry = asked(Lab(number, names=names, digits=digits))
    for ran in (inquiry.first, inquiry.other):
        ran.trace.facts["seeded 0"] = list(seeded)
        for name, site in list(ran.trace.sites.items()):
            kind = what if site.kind == "unseeded" else ""
            ran.trace.sites[name] = replace(site, what=kind, overwritten=name in overwritten)
    return inquiry


@pytest.mark.parametrize("cause", [DRAWN, ORDER, ENTROPY, CLOCK])
def test_a_line_alone_is_proven_by_the_third_run(cause):
    inquiry = inquiry_of(lambda drawn, *_: drawn[cause], [cause, "library_clock|train.py|30"])
    assert simple_cause(inquiry) == (cause,)
    assert (inquiry.lab.made, inquiry.confidence) == (3, "high")
    assert inquiry.odds((cause,)).by_replay


def both(drawn, *_):
    return drawn[DRAWN] * 1000 + drawn[AGAIN]


def test_a_generator_that_nothing_seeds_is_named_by_its_first_line():
    inquiry = inquiry_of(both, [DRAWN, AGAIN, CLOCK], what="np.random.rand")
    assert simple_cause(inquiry) == (DRAWN,)
    assert (inquiry.lab.made, inquiry.never_seeded) == (3, "NumPy's global generator")


def test_a_generator_that_is_seeded_in_the_first_process_and_not_in_its_workers_is_one_source_there():
    inquiry = inquiry_of(both, [DRAWN, AGAIN, CLOCK], what="np.random.rand", seeded=["numpy"])
    for ran in (inquiry.first, inquiry.other):
        for name in (DRAWN, AGAIN):
            ran.trace.sites[name] = replace(ran.trace.sites[name], processes=("0.s1", "0.s2"))
    assert simple_cause(inquiry) == (DRAWN,)
    assert (inquiry.lab.made, inquiry.never_seeded) == (3, "NumPy's global generator")


def test_a_line_whose_draws_are_overwritten_is_not_the_first_that_matters():
    inquiry = inquiry_of(both, [DRAWN, AGAIN], what="random.random", overwritten=[DRAWN])
    assert simple_cause(inquiry) == (AGAIN,)


def test_a_clock_that_a_library_reads_is_tried_where_there_is_nothing_else():
    cause = "library_clock|train.py|30"
    inquiry = inquiry_of(lambda drawn, *_: drawn[cause], [cause])
    assert simple_cause(inquiry) == (cause,)
    assert inquiry.lab.made == 3


def test_pythons_hash_seed_is_proven_by_the_third_run_where_no_line_differs():
    inquiry = inquiry_of(lambda drawn, run, given: 1 if given.hash_seed or run == 1 else run, [])
    inquiry.lab.hash_is_fixed = False
    assert simple_cause(inquiry) == (HASH_SEED,)
    assert (inquiry.lab.made, inquiry.confidence, inquiry.odds((HASH_SEED,)).by_replay) == (3, "high", True)


@pytest.mark.parametrize("nudge", [1.0, 1e-9])
def test_the_run_that_asks_about_the_hash_seed_watches_calls_too_and_is_no_run_more(nudge):
    inquiry = inquiry_of(lambda drawn, run, given: run * nudge, [])
    inquiry.lab.hash_is_fixed = False
    assert simple_cause(inquiry) is None
    assert explain(inquiry) is None
    assert (inquiry.lab.made, inquiry.watched_run.label) == (3, "3-calls")


def test_a_program_that_does_not_finish_with_its_calls_watched_is_asked_without():
    inquiry = inquiry_of(lambda drawn, run, given: 1 if given.hash_seed or run == 1 else run, [])
    inquiry.lab.hash_is_fixed = False
    run = inquiry.lab.run

    def broken(label, given):
        return replace(run(label, given), trouble="exit 1" if given.calls else "")

    inquiry.lab.run = broken
    assert simple_cause(inquiry) == (HASH_SEED,)
    assert inquiry.watched_run is None


def test_where_lines_of_several_workers_prove_nothing_no_line_after_them_is_tried_alone():
    inquiry = inquiry_of(lambda drawn, run, given: float(run), [DRAWN, AGAIN, ENTROPY], what="np.random.rand")
    for ran in (inquiry.first, inquiry.other):
        for name in (DRAWN, AGAIN):
            ran.trace.sites[name] = replace(ran.trace.sites[name], processes=("0.s1", "0.s2"))
    assert simple_cause(inquiry) is None
    assert inquiry.lab.made == 3


def test_lines_of_a_generator_that_is_seeded_too_late_are_told_apart():
    inquiry = inquiry_of(
        lambda drawn, *_: drawn[DRAWN], [DRAWN, AGAIN], what="random.random", seeded=["random"]
    )
    assert simple_cause(inquiry) == (DRAWN,)
    assert inquiry.never_seeded == ""


def two_generators(number):
    inquiry = inquiry_of(number, [DRAWN, AGAIN, CLOCK], what="np.random.rand")
    for ran in (inquiry.first, inquiry.other):
        ran.trace.sites[AGAIN] = replace(ran.trace.sites[AGAIN], what="random.random")
    return inquiry


def test_two_generators_that_nothing_seeds_are_named_together_where_neither_is_enough():
    inquiry = two_generators(both)
    assert set(simple_cause(inquiry)) == {DRAWN, AGAIN}
    assert (inquiry.lab.made, inquiry.confidence, inquiry.never_seeded) == (6, "high", "")


def test_of_two_generators_the_one_that_matters_is_named_alone():
    inquiry = two_generators(lambda drawn, *_: drawn[AGAIN])
    assert simple_cause(inquiry) == (AGAIN,)


def by_luck(drawn, run, given):
    return 2.5 if run == 2 else 1.5


def test_a_replay_is_no_proof_where_a_run_that_was_left_free_equalled_the_first():
    inquiry = inquiry_of(by_luck, [ENTROPY])
    inquiry.free_equal = 1
    assert simple_cause(inquiry) is None


@pytest.mark.parametrize(
    ("number", "named"), [(by_luck, None), (lambda drawn, *_: drawn[ENTROPY], (ENTROPY,))]
)
def test_where_processes_work_side_by_side_a_line_has_to_bring_back_the_other_run_too(number, named):
    inquiry = inquiry_of(number, [ENTROPY])
    inquiry.first = replace(inquiry.first, trace=replace(inquiry.first.trace, processes=2))
    assert simple_cause(inquiry) == named
    assert inquiry.lab.made == 4


def with_compiled_code(inquiry):
    """The same program, in which a library's compiled code works."""
    facts = {**inquiry.first.trace.facts, "limits 0": {"extensions": ["duckdb"]}}
    inquiry.first = replace(inquiry.first, trace=replace(inquiry.first.trace, facts=facts))
    return inquiry


@pytest.mark.parametrize(
    ("number", "named"), [(by_luck, None), (lambda drawn, *_: drawn[ENTROPY], (ENTROPY,))]
)
def test_beside_compiled_code_of_others_a_line_has_to_bring_back_the_other_run_too(number, named):
    inquiry = with_compiled_code(inquiry_of(number, [ENTROPY]))
    assert simple_cause(inquiry) == named
    assert inquiry.lab.made == 4


def test_beside_compiled_code_of_others_a_seed_that_is_lost_is_proven_by_the_third_run():
    inquiry = with_compiled_code(inquiry_of(both, [DRAWN, AGAIN], what="np.random.rand"))
    assert simple_cause(inquiry) == (DRAWN,)
    assert inquiry.lab.made == 3


def by_hash(drawn, run, given):
    """A number of each hash seed: of the first run, of those that are given the same, and of the others."""
    like = given.like.label if given.like and given.hash_seed else str(run)
    return 1.5 + int(like.split("-")[0])


def one_again(drawn, run, given):
    """A race with few results: the third run has the first one's by luck."""
    return 1.5 + {3: 1}.get(run, run)


@pytest.mark.parametrize(("number", "named"), [(one_again, None), (by_hash, (HASH_SEED,))])
def test_beside_compiled_code_of_others_one_run_is_no_proof_of_the_hash_seed(number, named):
    inquiry = with_compiled_code(inquiry_of(number, []))
    inquiry.lab.hash_is_fixed = False
    assert simple_cause(inquiry) is None
    assert explain(inquiry) == named
    assert inquiry.lab.made < 10


def test_few_digits_are_no_proof():
    inquiry = inquiry_of(lambda drawn, *_: drawn[CLOCK] % 2, [CLOCK], digits=1)
    assert simple_cause(inquiry) is None


def test_where_the_runs_differ_by_rounding_no_run_is_made_that_would_be_no_proof():
    inquiry = inquiry_of(lambda drawn, *_: drawn[CLOCK] * 1e-9, [CLOCK])
    assert simple_cause(inquiry) is None
    assert inquiry.lab.made == 2


def test_where_two_runs_without_a_seed_are_near_by_luck_one_more_tells_them_apart():
    def number(drawn, *_):
        return 1.0 + drawn[DRAWN] * (1e-9 if drawn[DRAWN] < 30 else 1.0)  # the first two runs draw 10 and 20

    inquiry = inquiry_of(number, [DRAWN, CLOCK], what="np.random.rand")
    assert simple_cause(inquiry) == (DRAWN,)
    assert (inquiry.lab.made, inquiry.confidence) == (4, "high")


def test_where_all_runs_without_a_seed_are_near_no_line_is_proven_by_one_run():
    inquiry = inquiry_of(lambda drawn, *_: drawn[DRAWN] * 1e-9, [DRAWN, CLOCK], what="np.random.rand")
    assert simple_cause(inquiry) is None
    assert inquiry.lab.made == 3


def test_what_was_the_first_runs_by_itself_may_be_the_cause_as_well():
    """The third run had the same order as the first by luck, and that decides."""
    order = {1: 1, 2: 2, 3: 1}
    inquiry = inquiry_of(lambda drawn, run, given: float(order.get(run, run)), [DRAWN, CLOCK])
    ran = inquiry.lab.run

    def with_order(label, given):
        made = ran(label, given)
        site = replace(made.trace.sites[CLOCK], digest=inquiry.first.trace.sites[CLOCK].digest)
        made.trace.sites[CLOCK] = site
        return made

    inquiry.lab.run = with_order
    assert simple_cause(inquiry) is None


def test_a_quick_program_whose_runs_are_sometimes_equal_is_run_more_often_than_one_whose_runs_never_are():
    made = []
    for results in (2, 10_000):
        lab = Lab(lambda _, run, __, results=results: run * 7919 % results)
        look_at_pairs(asked(lab))
        made.append(lab.made)
    assert made[0] > made[1]


def test_where_no_line_differs_no_pairs_are_looked_at():
    lab = Lab(lambda drawn, run, given: run, names=())
    look_at_pairs(asked(lab))
    assert lab.made == 2


@pytest.mark.parametrize(
    ("unit", "said"),
    [
        (DRAWN, "train.py:5 (unseeded_rng)"),
        (ORDER, "train.py:7 (hash_order)"),
        (TAKEN, "train.py:8 (concurrency)"),
        (HASH_SEED, HASH_SEED),
    ],
)
def test_a_suspicion_is_called_as_the_cause_will_be(unit, said):
    assert described(asked(Lab(both, names=[DRAWN, AGAIN, ORDER, TAKEN])), unit) == said
