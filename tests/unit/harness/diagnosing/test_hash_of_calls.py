"""Which call depends on Python's hash seed, where that decides and no line of the program does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reprokit.diagnosis.calls import Candidate, Unlike
from reprokit.harness.diagnosing import hash_of_calls
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.first_call import Look
from support.known_program_lab import Lab, asked

COUNT, SORT = (
    Candidate(site=f"/me/train.py:{line}:0-9", file="/me/train.py", line=line, name="words.f", at=line)
    for line in (8, 9)
)


@pytest.fixture
def named(tmp_path, monkeypatch):
    """Names the call of a program that has a number of its own for each hash seed."""
    notes = [json.dumps({"site": one.site, "note": "given"}) for one in (COUNT, SORT)]
    (tmp_path / "calls-0.jsonl").write_text("\n".join(notes) + "\n")

    def make(candidates, *, cause, followers=()):
        made, kept = [], {}

        def number(drawn, run, given):
            made.append(given)
            if given.calls.get("mode") == "keep":
                kept.setdefault(tuple(given.calls["sites"]), run)
            if given.calls.get("mode") == "give" and cause.site in given.calls["sites"]:
                return next(one for sites, one in kept.items() if set(given.calls["sites"]) <= set(sites))
            return 0 if given.hash_seed else run

        class Traced(Lab):
            def run(self, label, given):
                return replace(super().run(label, given), traced=tmp_path)

        lab = Traced(number)
        inquiry = asked(lab)
        pair = lab.run("calls", Conditions()), lab.run("calls", Conditions())
        look = Look(runs=list(pair), pair=pair, unlike=Unlike(candidates=candidates, followers=followers))
        monkeypatch.setattr(hash_of_calls, "look_at_calls", lambda _: look)
        hash_of_calls.line_of_hash(inquiry)
        assert not any(one.hash_seed for one in made)
        return inquiry.causes

    return make


def test_the_only_call_that_differs_is_named(named):
    (cause,) = named((COUNT,), cause=COUNT)
    assert (cause.category, cause.file, cause.line) == ("hash_order", "/me/train.py", 8)


def test_the_only_call_that_differs_is_not_named_where_runs_differ_with_its_result_given(named):
    assert named((COUNT,), cause=SORT) == ()


def test_of_two_calls_the_one_is_named_whose_result_decides(named):
    (cause,) = named((COUNT, SORT), cause=SORT)
    assert cause.line == 9


def test_where_no_call_differs_no_line_is_named(named):
    assert named((), cause=COUNT) == ()


def test_where_the_only_call_that_differs_is_innocent_the_first_call_of_what_it_made_is_looked_at(named):
    (cause,) = named((COUNT,), cause=SORT, followers=(SORT,))
    assert (cause.category, cause.line) == ("hash_order", 9)


def test_a_later_call_is_not_named_either_where_its_result_decides_nothing(named):
    elsewhere = replace(SORT, site="/me/other.py:1:0-9")
    assert named((COUNT,), cause=elsewhere, followers=(SORT,)) == ()
