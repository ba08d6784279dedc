"""A metric without one finite value is no evidence, and the row ``repeatable`` says so."""

from __future__ import annotations

import json

import pytest

from reprokit.core.checklist import Status, Verdict
from reprokit.harness import Request, judge_again

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def judged(make, here, programs):
    """The report of two runs that log the same records."""

    def judge(*records, ignore=()):
        def program(_spec, output, _on_tick):
            lines = (json.dumps({"step": at, **record}) + "\n" for at, record in enumerate(records))
            (output / "metrics.jsonl").write_text("".join(lines))

        return judge_again(make.of_command(program, program), Request(ignore=ignore), project=here)

    return judge


def row(report):
    return next(one for one in report.checks if one.id == "repeatable")


NOTHING = [NAN, INF, -INF, None, [NAN, [INF]], {"a": NAN}, []]


@pytest.mark.parametrize("value", NOTHING, ids=str)
def test_it_is_named_beside_a_metric_that_has_values(judged, value):
    report = judged({"lr": 0.1, "loss": value}, {"lr": 0.1, "loss": value})
    assert row(report).status is Status.PASSED
    name = "loss/a" if isinstance(value, dict) else "loss"  # what is in an object is a metric of its own
    assert f"; {name} holds not one finite value, which is no evidence" in row(report).reason


@pytest.mark.parametrize("value", [NAN, INF, None, [NAN]], ids=str)
def test_where_no_metric_has_a_value_nothing_is_proven(judged, value):
    report = judged({"a": value, "b": NAN}, {"a": value, "b": NAN})
    assert report.verdict is Verdict.UNJUDGED
    assert row(report).status is Status.ERROR


def test_a_metric_with_one_finite_value_anywhere_is_evidence(judged):
    report = judged({"loss": NAN}, {"loss": 0.5}, {"loss": NAN}, {"late": INF}, {"late": "text"})
    assert row(report).status is Status.PASSED
    assert "finite value" not in row(report).reason


def test_several_are_counted_and_those_left_out_on_request_are_not_named(judged):
    records = [{"lr": 0.1, **dict.fromkeys("abcdef", NAN)}] * 2
    assert "; a, b, c and 3 more hold not one finite value" in row(judged(*records)).reason
    assert "; c, d, e and 1 more hold" in row(judged(*records, ignore=("a", "b"))).reason


def test_what_is_left_once_metrics_are_ignored_must_have_a_value(judged):
    report = judged({"fps": 10.0, "loss": INF}, {"fps": 10.0, "loss": INF}, ignore=("fps",))
    assert report.verdict is Verdict.UNJUDGED
