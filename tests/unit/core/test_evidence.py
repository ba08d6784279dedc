"""Evidence: what is not known never reads as good."""

from dataclasses import fields

import pytest

from reprokit.core.evidence import (
    Evidence,
    GoldenEvidence,
    ReferenceRun,
    RunEvidence,
    SweepEvidence,
    TraceComparison,
    fact,
    is_integer,
    problems_of_runs,
)
from reprokit.core.provenance import Provenance


def evidence(*paths):
    runs = tuple(RunEvidence(path=path, complete=True) for path in paths)
    return Evidence(recipe=None, platform="cpu-x86_64", runs=runs)


def test_what_nobody_gathered_is_not_known():
    run = RunEvidence(path="runs/a", complete=True)
    assert run.config_differs is None
    assert run.metrics_problems is None
    assert run.trace_digest is None
    assert (run.num_records, run.trace_records, run.checkpoints, run.runtime) == (0, 0, {}, {})
    assert (run.incomplete_because, run.config, run.last_step) == ("", None, None)


def test_what_nobody_said_of_a_golden_is_not_known():
    golden = GoldenEvidence(
        path="golden/a", provenance=Provenance(), comparison=None, fingerprint_equal=False
    )
    assert (golden.num_records, golden.trace, golden.has_trace) == (0, None, False)


def test_nothing_is_asked_for_and_nothing_is_strict_unless_somebody_says_so():
    found = evidence()
    assert (found.seed, found.rerun, found.golden, found.golden_missing_because) == (None, "", None, "")
    assert (found.locked, found.sweep, found.strict) == (None, None, False)
    assert TraceComparison(equal=True, records_compared=0).first is None
    assert SweepEvidence(final_values={}).intervals == {}


@pytest.mark.parametrize("kind", [TraceComparison, SweepEvidence])
def test_evidence_cannot_be_changed(kind):
    assert kind.__dataclass_params__.frozen
    assert kind.__slots__
    assert all(field.kw_only for field in fields(kind))


@pytest.mark.parametrize(
    ("path", "value"),
    [("a", {"b": {"c": 0}}), ("a.b.c", 0), ("a.x", None), ("a.b.c.d", None), ("x.y", None), ("list.0", None)],
)
def test_a_fact_is_found_by_its_path_or_is_none(path, value):
    assert fact({"a": {"b": {"c": 0}}, "list": [1]}, path) == value


@pytest.mark.parametrize("record", [None, [], "a", 1])
def test_a_record_that_is_no_mapping_has_no_facts(record):
    assert fact(record, "a") is None


@pytest.mark.parametrize(
    ("value", "is_one"),
    [(42, True), (0, True), (-1, True), (True, False), ("42", False), (42.0, False), (None, False)],
)
def test_only_a_whole_number_is_an_integer(value, is_one):
    assert is_integer(value) is is_one


def test_each_run_with_a_problem_is_named():
    found = problems_of_runs(evidence("runs/a", "runs/b"), lambda run: "torn" if run.path == "runs/b" else "")
    assert found == ("runs/b: torn",)
    assert problems_of_runs(evidence("runs/a"), lambda run: None) == ()


def test_no_run_is_a_problem():
    assert problems_of_runs(evidence(), lambda run: "") == ("there is no run to look at",)


def test_a_run_in_place_of_a_golden_is_called_by_the_name_of_its_folder():
    assert ReferenceRun(path="runs/r/T-seed42-1/").noun == "the run T-seed42-1"
