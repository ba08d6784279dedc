"""Which call is named where threads decide, and which runs that takes: with a program that is known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reprokit.diagnosis.calls import Candidate, Unlike
from reprokit.harness.diagnosing import first_call, why_calls_differ
from reprokit.harness.diagnosing.conditions import Conditions
from reprokit.harness.diagnosing.first_call import Look, by_first_call, is_in_a_library
from reprokit.harness.diagnosing.taps.preloaded import Taps
from reprokit.variations import AvailableVariations
from support.known_program_lab import Lab, asked

FIT, PREDICT = (
    Candidate(site=f"/me/train.py:{line}:0-9", file="/me/train.py", line=line, name="boost.fit", at=line)
    for line in (8, 9)
)


@pytest.fixture
def diagnosed(tmp_path, monkeypatch):
    """Makes the diagnosis of a program that differs unless a variable is set or a call gets its result."""
    record = {"generators": {}, "python_threads": 0, "native_threads": 4}
    record |= {"parameters": ["rows", "nthread"], "settings": []}
    told = [{"site": one.site, **record} for one in (FIT, PREDICT)]
    told += [{"site": one.site, "note": "given"} for one in (FIT, PREDICT)]
    (tmp_path / "calls-0.jsonl").write_text("\n".join(map(json.dumps, told)) + "\n")

    nothing = AvailableVariations(made=(), unmade=())
    monkeypatch.setattr(why_calls_differ, "there", lambda *_, **__: None)
    monkeypatch.setattr(why_calls_differ, "survey", lambda *_, **__: nothing)
    monkeypatch.setattr(first_call, "preload_taps", lambda _: None)

    def make(candidates, *, variable="OMP_NUM_THREADS", cause=FIT, sampled=False, native=4):
        text = (tmp_path / "calls-0.jsonl").read_text()
        text = text.replace('"native_threads": 4', f'"native_threads": {native}')
        (tmp_path / "calls-0.jsonl").write_text(text)
        modes, kept = [], {}

        def number(drawn, run, given):
            modes.append(given.calls.get("mode"))
            if modes[-1] == "keep":
                kept.setdefault("number", run)
            if modes[-1] == "give" and cause.site in given.calls["sites"]:
                return kept["number"]
            return 1000 if variable in given.environment else run

        class Traced(Lab):
            def run(self, label, given):
                return replace(super().run(label, given), traced=tmp_path)

        lab = Traced(number)
        lab.spec = lab.apart = None
        inquiry = asked(lab)
        pair = lab.run("calls", Conditions()), lab.run("calls", Conditions())
        unlike = Unlike(candidates=tuple(candidates), first=candidates[0], sampled=sampled)
        found = by_first_call(inquiry, Look(runs=list(pair), pair=pair, unlike=unlike))
        return found, modes, inquiry

    return make


def test_where_one_call_alone_differs_and_threads_decide_nothing_is_substituted(diagnosed):
    found, modes, inquiry = diagnosed([FIT])
    cause = found.cause
    assert (cause.category, cause.line, cause.confidence) == ("concurrency", 8, "high")
    assert cause.fix == "nthread=1"
    assert "give" not in modes
    assert inquiry.odds_of_others.enough


@pytest.mark.parametrize(("candidates", "sampled"), [([FIT, PREDICT], False), ([FIT], True)])
def test_where_another_call_may_be_it_the_line_is_shown_by_substitution(diagnosed, candidates, sampled):
    found, modes, _ = diagnosed(candidates, sampled=sampled)
    assert (found.cause.category, found.cause.line, found.proven) == ("concurrency", 8, True)
    assert "give" in modes


def test_the_call_that_decides_is_named_where_another_one_comes_first(diagnosed):
    found, _, inquiry = diagnosed([FIT, PREDICT], cause=PREDICT)
    assert (found.cause.category, found.cause.line) == ("concurrency", 9)
    assert [one.what for one in inquiry.ruled_out] == ["boost.fit, /me/train.py:8"]


def test_where_threads_decide_and_no_substitution_shows_the_line_it_is_no_certainty(diagnosed):
    elsewhere = replace(FIT, site="/me/other.py:1:0-9")
    found, _, _ = diagnosed([FIT, PREDICT], cause=elsewhere)
    assert (found.cause.category, found.cause.confidence, found.proven) == ("concurrency", "medium", False)


def test_without_threads_a_substitution_alone_is_the_proof_and_the_category_is_unknown(diagnosed):
    found, _, inquiry = diagnosed([FIT], native=0)
    assert (found.cause.category, found.cause.line, found.proven) == ("unknown", 8, True)
    assert inquiry.odds_of_others.luck < 0.01


@pytest.mark.parametrize(
    ("name", "is_library"),
    [
        ("boost.fit", True),
        ("Tokenizer.train", True),  # a class in Rust that does not say its module
        ("torch.index_put", False),
        ("Tensor.index_put_", False),
        ("train_step", False),
    ],
)
def test_a_call_of_compiled_code_of_others_is_told_from_one_of_pytorch(name, is_library):
    one = replace(FIT, name=name)
    look = Look(runs=[], pair=(None, None), unlike=Unlike(candidates=(one,), first=one))
    assert is_in_a_library(look, {"boost"}) is is_library


@pytest.mark.parametrize(
    ("decides", "line", "category"), [("threads", 8, "concurrency"), ("none", 9, "unknown")]
)
def test_the_call_that_made_what_cannot_be_read_is_named_where_its_threads_decide(
    tmp_path, monkeypatch, decides, line, category
):
    calls = [("C", 0, FIT.site, 1, "f", "", "a", "index?", "=", 1, "0")]
    calls.append(("C", 0, PREDICT.site, 1, "f", "index?", "q", "x", "=", 2, "0"))
    (tmp_path / "calls-0.tsv").write_text("".join("\t".join(map(str, one)) + "\n" for one in calls))
    (tmp_path / "calls-0.jsonl").write_text(json.dumps({"site": PREDICT.site, "note": "given"}) + "\n")
    inside = {"site": FIT.site, "moved": {"/lib/index.so": {"threads": 4}}}
    (tmp_path / "taps-0.jsonl").write_text(json.dumps(inside) + "\n")
    monkeypatch.setattr(first_call, "preload_taps", lambda _: None)
    monkeypatch.setattr(why_calls_differ, "there", lambda *_, **__: None)
    nothing = AvailableVariations(made=(), unmade=())
    monkeypatch.setattr(why_calls_differ, "survey", lambda *_, **__: nothing)

    class Traced(Lab):
        def run(self, label, given):
            return replace(super().run(label, given), traced=tmp_path)

    lab = Traced(lambda drawn, run, given: 1000 if given.taps and decides in given.taps.hold else run)
    lab.spec = lab.apart = None
    inquiry = asked(lab)
    inquiry.taps = Taps(library=tmp_path / "taps.so", key="0f" * 16, now=1)
    pair = lab.run("calls", Conditions()), lab.run("calls", Conditions())
    unlike = Unlike(candidates=(PREDICT,), first=PREDICT)
    cause = by_first_call(inquiry, Look(runs=list(pair), pair=pair, unlike=unlike)).cause
    assert (cause.line, cause.category) == (line, category)


@pytest.mark.parametrize(
    ("processes", "category", "confidence"), [(3, "concurrency", "medium"), (1, "unknown", "low")]
)
def test_where_no_call_is_inexplicable_the_processes_of_a_pool_may_decide(processes, category, confidence):
    lab = Lab(lambda drawn, run, given: 1000 if given.state else run)
    inquiry = asked(lab)
    inquiry.first = replace(inquiry.first, trace=replace(inquiry.first.trace, processes=processes))
    pair = lab.run("calls", Conditions()), lab.run("calls", Conditions())
    found = by_first_call(inquiry, Look(runs=list(pair), pair=pair, unlike=Unlike(first=FIT)))
    cause = found.cause
    assert (cause.category, cause.line, cause.confidence) == (category, 8, confidence)
    assert not found.proven
