"""What the substitution of calls proves, and how rarely luck passes for it: with known programs."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from reprokit.diagnosis.calls import Candidate
from reprokit.harness.diagnosing.call_experiments import Proof
from reprokit.harness.diagnosing.conditions import Conditions
from support.known_program_lab import Lab, asked

FIT, SHUFFLE = (
    Candidate(site=f"/me/train.py:{line}:0-9", file="/me/train.py", line=line, name="f", at=line)
    for line in (8, 9)
)


THREADS = {"OMP_NUM_THREADS": "1"}


@pytest.fixture
def proof_for(tmp_path):
    """Makes the experiments with a program whose number is known; every call takes what it is given."""
    notes = [json.dumps({"site": one.site, "note": "given"}) for one in (FIT, SHUFFLE)]
    (tmp_path / "calls-0.jsonl").write_text("\n".join(notes) + "\n")

    class Traced(Lab):
        def run(self, label, given):
            return replace(super().run(label, given), traced=tmp_path)

    def make(number):
        lab = Traced(number)
        inquiry = asked(lab)
        looked = [lab.run("calls", Conditions())]
        while lab.made < 10 and (len(looked) < 2 or lab.equal(looked[0], looked[-1])):
            looked.append(lab.run("calls", Conditions()))
        return Proof(inquiry, looked)

    return make


def sites_of(given):
    return given.calls.get("sites", ()) if given.calls.get("mode") == "give" else ()


def decided_by(cause):
    """A number of its own in every run, but where the cause gives what it gave in the run that kept it."""
    kept = {}

    def number(drawn, run, given):
        if given.calls.get("mode") == "keep":
            kept.setdefault("number", run)
        return kept["number"] if cause.site in sites_of(given) else run

    return number


def test_a_call_that_decides_alone_is_proven_and_one_beside_it_is_not(proof_for):
    proof = proof_for(decided_by(FIT))
    assert proof.begin([SHUFFLE, FIT])
    assert proof.held([SHUFFLE, FIT]) == (FIT,)
    assert proof.odds.enough


def test_of_a_call_in_workers_the_run_that_kept_its_result_is_no_pair_that_was_equal_by_luck(proof_for):
    in_a_worker = replace(FIT, elsewhere=True)
    proof = proof_for(decided_by(FIT))
    assert proof.begin([in_a_worker])
    assert proof.held([in_a_worker]) == (in_a_worker,)
    assert proof.odds.equal == 0


def test_a_call_that_decides_nothing_is_not_proven(proof_for):
    proof = proof_for(lambda drawn, run, given: run)
    assert proof.begin([FIT])
    assert proof.held([FIT]) == ()
    assert proof.odds is None


def test_where_runs_differ_though_much_is_held_none_is_made_with_less_of_it(proof_for):
    proof = proof_for(lambda drawn, run, given: run)
    lab = proof.inquiry.lab
    assert proof.equal_under(environment=THREADS, start=("--fixed-addresses",)) is None
    made = lab.made
    assert proof.equal_under(environment=THREADS) is None
    assert proof.equal_under(environment=THREADS, start=("--fixed-addresses",)) is None
    assert lab.made == made
    assert proof.equal_under(environment=THREADS, start=("--cores", "1")) is None
    assert lab.made > made


def test_runs_that_differ_from_those_with_more_held_may_repeat_one_another(proof_for):
    proof = proof_for(lambda drawn, run, given: len(given.environment) if given.environment else -run)
    more = proof.equal_under(environment={**THREADS, "MALLOC_PERTURB_": "9"})
    assert proof.equal_under(environment=THREADS, like=more.run) is None
    assert proof.equal_under(environment=THREADS) is not None


@pytest.mark.parametrize("odds", [[0.5, 0.5], [0.8, 0.2], [0.4, 0.3, 0.3], [0.25] * 4, [0.1] * 10])
def test_where_substitution_decides_nothing_luck_seldom_passes_for_it(proof_for, odds):
    chance = random.Random(3)
    proven = made = 0
    while made < 300:
        proof = proof_for(lambda *_: chance.choices(range(len(odds)), odds)[0])
        if not proof.inquiry.lab.equal(proof.inquiry.first, proof.inquiry.other):
            made += 1
            proven += proof.begin([SHUFFLE, FIT]) and bool(proof.held([SHUFFLE, FIT]))
    assert proven / made < 0.02
