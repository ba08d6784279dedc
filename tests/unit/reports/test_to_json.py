from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from reprokit.core.checklist import Report, Verdict
from reprokit.core.report_parts import DrawnCurve
from reprokit.errors import ReportError
from reprokit.reports.formats.to_json import from_dict, from_json, to_dict, to_json

Sample = Callable[[Verdict], Report]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_report_comes_back_as_it_was_written(sample_report: Sample, verdict: Verdict) -> None:
    text = to_json(sample_report(verdict))

    assert to_json(from_json(text)) == text
    assert json.loads(text) == to_dict(sample_report(verdict))
    assert from_json(text).checks == sample_report(verdict).checks


def test_the_top_level_is_the_contract_field_for_field(sample_report: Sample) -> None:
    keys = list(to_dict(sample_report(Verdict.REPRODUCED)))

    assert keys[0] == "schema"
    fields = {field.name for field in dataclasses.fields(Report)}
    only_where_there_is_one = {
        "bundle",
        "rounding",
        "statistical",
        "nearby",
        "trace",
        "tool",
        "extensions",
        "sections",
        "stress",
    }
    assert sorted(keys) == sorted(fields - only_where_there_is_one)


def test_hostile_text_comes_back_unchanged_from_a_file_that_is_safe_to_print(
    hostile_report: Report, hostile_text: str
) -> None:
    text = to_json(hostile_report)

    assert text.isascii()
    assert all(line.isprintable() for line in text.split("\n"))
    assert from_json(text).sentence == hostile_text
    assert from_json(text).checks[0].id == hostile_text


def test_numbers_that_json_lacks_become_strings_that_float_reads(sample_report: Sample) -> None:
    report = dataclasses.replace(
        sample_report(Verdict.REGRESSION),
        curves={
            "m": [DrawnCurve(label="run 1", steps=[0, 1, 2, 3], values=[math.nan, math.inf, -math.inf, None])]
        },
        environment={"huge": 10**5000},
    )

    text = to_json(report)
    back = from_json(text)

    assert '"NaN", "Infinity", "-Infinity", null' in text
    values = back.curves["m"][0].values
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf, None]
    assert back.environment["huge"] == hex(10**5000)


def test_a_record_nested_without_end_is_cut_and_says_so(sample_report: Sample) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}

    text = to_json(dataclasses.replace(sample_report(Verdict.REPRODUCED), environment=deep))

    assert "(more than 64 levels deep)" in text
    assert to_json(from_json(text)) == text


def test_a_curve_is_one_line(sample_report: Sample) -> None:
    lines = to_json(sample_report(Verdict.REGRESSION)).splitlines()

    assert sum('"steps"' in line for line in lines) == 18
    assert len(lines) < 1000


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda d: d.update(schema=0), "another schema"),
        (lambda d: d.update(schema=2), "newer version of reprokit, with schema 2"),
        (lambda d: d.update(schema=True), "another schema"),
        (lambda d: d.pop("schema"), "another schema"),
        (lambda d: d.pop("verdict"), "'verdict' is missing"),
        (lambda d: d.update(verdict="FINE"), "unknown word"),
        (lambda d: d.update(exit_code=0), "not the exit code"),
        (lambda d: d.update(exit_code=True), "wrong type"),
        (lambda d: d.update(exit_code=1.0), "wrong type"),
        (lambda d: d.update(colour="red"), "unknown key 'colour'"),
        (lambda d: d.update(sentence=None), "wrong type"),
        (lambda d: d.update(runs="runs/a"), "wrong type"),
        (lambda d: d.update(runs=[1]), "wrong type"),
        (lambda d: d.update(checks={}), "wrong type"),
        (lambda d: d["checks"][0].update(status="OK"), "unknown word"),
        (lambda d: d["checks"][0].update(required="yes"), "wrong type"),
        (lambda d: d["checks"][0].pop("reason"), "'reason' is missing"),
        (lambda d: d["checks"][0].update(extra=1), "unknown key 'extra'"),
        (lambda d: d["divergence"].pop("step"), "'step' is missing"),
        (lambda d: d["divergence"].update(ulps=1.5), "wrong type"),
        (lambda d: d["divergence"].update(record=None), "wrong type"),
        (lambda d: d.update(environment_diff=[{"field": "x"}]), "'expected' is missing"),
        (
            lambda d: d.update(
                environment_diff=[{"field": "x", "expected": 1, "actual": 2, "can_change_numbers": True}]
            ),
            "unknown word",
        ),
        (lambda d: d["comparisons"]["golden"].pop("identical"), "'identical' is missing"),
        (lambda d: d["comparisons"]["repeats"].append(None), "wrong type"),
        (lambda d: d["comparisons"].update(repeats={}), "wrong type"),
        (lambda d: d["comparisons"]["golden"]["per_metric"].update(x={}), "'max_abs_error' is missing"),
        (lambda d: d["curves"].update(x=[{"label": "a", "steps": [1], "values": []}]), "not of one length"),
        (lambda d: d["curves"].update(x=[{"label": "a", "steps": ["1"], "values": [1]}]), "wrong type"),
        (lambda d: d["curves"].update(x=[{"label": "a", "steps": [1], "values": [True]}]), "wrong type"),
        (lambda d: d.update(recipe_lines={"tolerances": "12"}), "wrong type"),
        (lambda d: d.update(not_run=[]), "wrong type"),
        (lambda d: d.update(seed=1.0), "wrong type"),
        (lambda d: d.update(schema=1.0), "wrong type"),
        (lambda d: d["divergence"].update(abs_error="inf"), "wrong type"),
        (lambda d: d["checks"].append(["id"]), "wrong type"),
        (lambda d: d.update(cause={"limits": [1]}), "wrong type"),
    ],
)
def test_a_malformed_report_is_refused_and_the_place_is_named(
    sample_report: Sample, change: Callable[[dict[str, Any]], Any], what: str
) -> None:
    data = json.loads(to_json(sample_report(Verdict.REGRESSION)))
    change(data)

    with pytest.raises(ReportError, match=what) as caught:
        from_dict(data, where="reports/a/report.json")

    assert caught.value.exit_code == 2
    assert str(caught.value).startswith("reports/a/report.json")
    assert caught.value.fix


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda d: d["checks"][0].update(required="yes"),
            ("r: checks[0].required", "true or false", "a string"),
        ),
        (lambda d: d["checks"][0].update(status="OK"), ("r: checks[0].status", "'PASSED'", "'OK'")),
        (lambda d: d["comparisons"]["golden"]["problems"].append(None), ("golden.problems[", "an object")),
        (lambda d: d.update(recipe_lines={"a.b": True}), ("r: recipe_lines.a.b", "an integer")),
    ],
)
def test_a_refusal_names_place_expectation_and_finding(
    sample_report: Sample, change: Callable[[dict[str, Any]], Any], told: tuple[str, ...]
) -> None:
    data = json.loads(to_json(sample_report(Verdict.REGRESSION)))
    change(data)

    with pytest.raises(ReportError) as caught:
        from_dict(data, where="r")

    for words in told:
        assert words in str(caught.value)


def test_lone_surrogates_and_whole_numbers_come_back_as_they_were(sample_report: Sample) -> None:
    """A parser that reads into types would refuse the one and turn the other into 2048.0."""
    report = dataclasses.replace(
        sample_report(Verdict.REGRESSION),
        runs=("runs/\udcff",),
        curves={"m": [DrawnCurve(label="\ud800", steps=[2048], values=[1])]},
    )

    text = to_json(report)

    assert from_json(text).runs == ("runs/\udcff",)
    assert to_json(from_json(text)) == text


def test_an_infinite_error_is_read(sample_report: Sample) -> None:
    data = json.loads(to_json(sample_report(Verdict.REGRESSION)))
    data["divergence"].update(abs_error="Infinity", metric="NaN")

    assert from_dict(data).divergence.metric == "NaN"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"schema": 1, "schema": 1}',
        '{"schema": NaN}',
        '{"schema": 1e999}',
        '{"schema": 1} {}',
        "[" * 100_000,
        '{"schema": ' + "9" * 5000 + "}",
        b"\xff\xfe\x00",
        b'{"schema": "\xff"}',
    ],
    ids=range(12),
)
def test_what_is_not_a_json_report_is_refused(text: str | bytes) -> None:
    with pytest.raises(ReportError):
        from_json(text)


def test_a_refusal_shows_hostile_keys_instead_of_acting_on_them(
    sample_report: Sample, hostile_text: str
) -> None:
    data = json.loads(to_json(sample_report(Verdict.REPRODUCED)))
    data["curves"] = {hostile_text: [{"label": "a", "steps": [1], "values": []}]}

    with pytest.raises(ReportError) as caught:
        from_dict(data)

    assert str(caught.value).isprintable()


def test_an_old_report_without_the_optional_fields_is_read(sample_report: Sample) -> None:
    data = json.loads(to_json(sample_report(Verdict.REPRODUCED)))
    for name in ("not_run", "recipe_file", "recipe_lines"):
        del data[name]

    assert from_dict(data).recipe_file is None
