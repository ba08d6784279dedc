from __future__ import annotations

import dataclasses
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.reports.formats.to_junit import to_junit

Sample = Callable[[Verdict], Report]


def _cases(report: Report) -> dict[str, TestCase]:
    (suite,) = JUnitXml.fromstring(to_junit(report).encode("utf-8"))
    return {case.name: case for case in suite}


def _row(status: Status, *, required: bool = True) -> CheckResult:
    return CheckResult(
        id="seeded",
        title="Seeded",
        status=status,
        reason="the reason",
        remedy="the remedy",
        required=required,
    )


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_suite_is_red_exactly_when_the_exit_code_is_not_zero(
    sample_report: Sample, verdict: Verdict
) -> None:
    report = sample_report(verdict)

    document = JUnitXml.fromstring(to_junit(report).encode("utf-8"))

    is_red = document.failures + document.errors > 0
    assert is_red is (report.exit_code != 0)
    assert document.tests == len(report.checks) + 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [(Status.FAILED, Failure), (Status.ERROR, Error), (Status.SKIPPED, Skipped)],
)
def test_a_required_row_becomes_the_element_of_its_status(
    sample_report: Sample, status: Status, kind: type[Failure | Error | Skipped]
) -> None:
    report = dataclasses.replace(sample_report(Verdict.CHECK_FAILED), checks=(_row(status),))

    (result,) = _cases(report)["seeded: Seeded"].result

    assert type(result) is kind
    assert result.message == "the reason"
    assert "the remedy" in result.text


@pytest.mark.parametrize("status", [Status.FAILED, Status.ERROR, Status.SKIPPED])
def test_an_advisory_row_is_skipped_and_keeps_its_status_in_words(
    sample_report: Sample, status: Status
) -> None:
    report = dataclasses.replace(sample_report(Verdict.REPRODUCED), checks=(_row(status, required=False),))

    (result,) = _cases(report)["seeded: Seeded"].result

    assert type(result) is Skipped
    assert result.message == f"advisory, {status.value}: the reason"


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        (Verdict.NONDETERMINISTIC, Failure),
        (Verdict.REGRESSION, Failure),
        (Verdict.CHECK_FAILED, Failure),
        (Verdict.NOT_RUN, Error),
        (Verdict.STALE_GOLDEN, Error),
        (Verdict.NO_GOLDEN, Error),
        (Verdict.UNJUDGED, Error),
    ],
)
def test_the_verdict_is_a_case_of_its_own(sample_report: Sample, verdict: Verdict, kind: type) -> None:
    report = sample_report(verdict)

    (result,) = _cases(report)["verdict"].result

    assert type(result) is kind
    assert result.message == f"{verdict.value}: {report.sentence}"
    assert report.next_command in result.text


def test_the_end_of_a_failed_runs_log_goes_with_the_verdict(sample_report: Sample) -> None:
    case = _cases(sample_report(Verdict.NOT_RUN))["verdict"]

    assert "can't allocate memory" in case.system_err
    assert "\x1b" not in case.system_err


def test_hostile_text_leaves_the_xml_well_formed(hostile_report: Report) -> None:
    text = to_junit(hostile_report)

    root = ET.fromstring(text)  # noqa: S314 - our own output; that it has no entities is asserted below

    assert {element.tag for element in root.iter()} <= {
        "testsuites",
        "testsuite",
        "properties",
        "property",
        "testcase",
        "failure",
        "error",
        "skipped",
        "system-out",
        "system-err",
    }
    assert len(root.findall("testsuite/testcase")) == 5
    assert "<!" not in text
    assert JUnitXml.fromstring(text.encode("utf-8")).tests == 5
