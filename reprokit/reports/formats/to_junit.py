"""A report as JUnit XML, for CI.

Each report is a suite, each row a case, and so is the verdict: the suite has a failure or an error exactly
when the exit code is not zero. So a row that did not pass but does not count (advisory, relaxed, not
applicable) is ``skipped``, with its status in the message.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from reprokit.core.checklist import Report, Status, Verdict
from reprokit.reports.formats.report_content import Outline, ReportRow, outline

_ELEMENTS = {Status.FAILED: "failure", Status.ERROR: "error", Status.SKIPPED: "skipped"}


def to_junit(report: Report) -> str:
    """The report as a ``testsuites`` document with one ``testsuite``."""
    found = outline(report)
    name = f"reprokit.{found.recipe}"
    suite = ET.Element("testsuite", name=name, timestamp=found.created_at)
    properties = ET.SubElement(suite, "properties")
    for label, value in (*found.subject, ("rerun", found.rerun)):
        ET.SubElement(properties, "property", name=label, value=value)
    _add_verdict(suite, found, classname=name)
    for row in found.rows:
        _add_row(suite, row, classname=name)
    totals = _totals(suite)
    suite.attrib.update(totals)
    document = ET.Element("testsuites", {"name": "reprokit", **totals})
    document.append(suite)
    ET.indent(document)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(document, encoding="unicode")}\n'


def _totals(suite: ET.Element) -> dict[str, str]:
    paths = {"tests": "", "failures": "/failure", "errors": "/error", "skipped": "/skipped"}
    return {name: str(len(suite.findall(f"testcase{path}"))) for name, path in paths.items()}


def _add_verdict(suite: ET.Element, found: Outline, *, classname: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=classname, name="verdict")
    message = f"{found.verdict.value}: {found.sentence}"
    if found.exit_code == 0:
        ET.SubElement(case, "system-out").text = message
    else:
        element = "failure" if found.tone == "bad" else "error"
        detail = [found.sentence, *(f"{label}: {value}" for label, value in found.not_run + found.divergence)]
        detail += [f"next: {found.next_command}"] if found.next_command else []
        _add_outcome(case, element, message, found.verdict, detail)
    if found.log_tail:
        ET.SubElement(case, "system-err").text = "\n".join(found.log_tail)


def _add_row(suite: ET.Element, row: ReportRow, *, classname: str) -> None:
    case = ET.SubElement(suite, "testcase", classname=classname, name=f"{row.id}: {row.title}")
    if row.status is Status.PASSED:
        ET.SubElement(case, "system-out").text = row.reason
    elif row.required:
        _add_outcome(case, _ELEMENTS[row.status], row.reason, row.status, [row.reason, row.remedy])
    else:
        message = f"advisory, {row.status.value}: {row.reason}"
        _add_outcome(case, "skipped", message, row.status, [row.reason, row.remedy])


def _add_outcome(
    case: ET.Element, element: str, message: str, kind: Status | Verdict, detail: list[str]
) -> None:
    outcome = ET.SubElement(case, element, message=message, type=kind.value)
    outcome.text = "\n".join(line for line in detail if line)
