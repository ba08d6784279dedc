"""What is wrong with a golden that loads."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reprokit.golden.folder import load
from reprokit.golden.lint import lint


@pytest.fixture
def good(bless, candidate):
    """A golden in which there is nothing to find."""
    facts = {"inside.numerics.profile": "portable"}
    environment = {"inside": {"torch": "2.13.0"}, "host": {"kernel": "6.1"}}
    runs = [candidate(fingerprint_facts=facts, environment=environment) for _ in range(2)]
    return bless(*runs)


def rules(golden, *, min_runs=2):
    return [finding.rule for finding in lint(golden, min_runs=min_runs)]


def changed(golden, **words):
    return replace(golden, provenance=golden.provenance._replace(**words))


def test_a_good_golden_has_no_finding(good):
    assert rules(good) == []


def test_a_provenance_that_was_edited_by_hand_is_found_and_an_older_one_without_a_seal_is_not(good):
    file = good.path / "provenance.json"
    told = json.loads(file.read_text())
    file.write_text(json.dumps({**told, "runs_agreed": 40}))
    (finding,) = lint(load(good.path), min_runs=2)
    assert (finding.rule, finding.where) == ("provenance", str(file))
    assert "edited after the promotion" in finding.what
    del told["seal"]
    file.write_text(json.dumps(told))
    assert rules(load(good.path)) == []


@pytest.mark.parametrize("wild", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_found_once_a_metric_with_its_line(good, wild):
    lines = good.metrics.read_text().splitlines()
    lines[3:6] = [f'{{"step": {step}, "train/loss": {wild}}}' for step in (3, 4, 5)]
    good.metrics.write_text("\n".join(lines) + "\n")
    (finding,) = lint(good, min_runs=2)
    assert (finding.rule, finding.where) == ("nonfinite", f"{good.metrics}:4")


@pytest.mark.parametrize("facts", [{"inside.numerics.profile": "native"}, {"torch": "2.13.0"}])
def test_a_golden_of_a_cpu_that_is_not_portable_is_found(good, facts):
    assert rules(changed(good, fingerprint_facts=facts)) == ["numerics"]


def test_a_native_golden_of_a_gpu_is_in_order(good):
    native = {"inside.numerics.profile": "native"}
    assert rules(changed(good, platform="cuda-h200", fingerprint_facts=native)) == []


@pytest.mark.parametrize(
    "words",
    [
        {"reason": " "},
        {"created_at": ""},
        {"environment": {"inside": {"torch": "2.13.0"}}},
        {"environment": {"host": {"kernel": "6.1"}}},
        {"image": {"kind": "venv", "digest": None}},
        {"config": {}},
    ],
    ids=lambda words: next(iter(words)),
)
def test_missing_provenance_is_found(good, words):
    assert rules(changed(good, **words)) == ["provenance"]


def test_too_few_agreeing_runs_are_found_and_the_chance_is_told(good):
    (finding,) = lint(good, min_runs=5)
    assert finding.rule == "agreement"
    assert "at most 95%" in finding.what
    assert "--repeats 5" in finding.remedy


@pytest.mark.parametrize(
    ("tolerances", "told"),
    [
        ({"default": {"rtol": 1e-6, "atol": 0.0}}, "every metric (rtol 1e-06)"),
        ({"default": {"rtol": 0, "atol": 0}, "metrics": {"loss/*": {"atol": 0.1}}}, "loss/* (atol 0.1)"),
        ({"platforms": {"cpu-x86_64": {"default": {"rtol": 0.5}}}}, "every metric (rtol 0.5)"),
    ],
)
def test_a_tolerance_that_runs_without_spread_do_not_support_is_found(good, tolerances, told):
    (finding,) = lint(changed(good, tolerances=tolerances), min_runs=2)
    assert finding.rule == "tolerance"
    assert told in finding.what


@pytest.mark.parametrize(
    "tolerances",
    [
        {},
        {"default": {"rtol": 0.0, "atol": 0.0}, "metrics": {"loss/*": {"rtol": 0}}},
        {"default": {"rtol": 0.0}, "platforms": {"cuda-h200": {"default": {"rtol": 0.01}}}},
    ],
)
def test_a_tolerance_for_another_platform_is_none_of_this_ones_business(good, tolerances):
    assert rules(changed(good, tolerances=tolerances)) == []


def test_every_finding_says_what_to_do(good):
    broken = changed(good, reason="", image={}, tolerances={"default": {"rtol": 1}}, fingerprint_facts={})
    good.metrics.write_text(json.dumps({"step": 0, "loss": float("nan")}) + "\n")
    findings = lint(broken, min_runs=9)
    assert {one.rule for one in findings} == {"nonfinite", "numerics", "provenance", "agreement", "tolerance"}
    assert all(one.remedy and one.where for one in findings)
