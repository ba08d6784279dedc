from __future__ import annotations

import dataclasses
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reprokit import cli
from reprokit.core.checklist import Report, Verdict
from reprokit.reports.formats import to_json
from reprokit.reports.formats.to_html import to_html
from reprokit.reports.formats.to_notebook import to_notebook

Sample = Callable[[Verdict], Report]


class _Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_notebook_is_given_one_frame_with_the_page_and_no_right_to_its_own(sample_report: Sample) -> None:
    report = dataclasses.replace(sample_report(Verdict.REGRESSION), recipe='"><script>alert(1)</script>')

    [(tag, found)] = _Elements(to_notebook(report)).found

    assert tag == "iframe"
    assert found["srcdoc"] == to_html(report)
    assert found["sandbox"] == "allow-scripts"


def test_the_verb_prints_it_with_the_exit_code_of_the_verdict(
    sample_report: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = sample_report(Verdict.REGRESSION)
    (tmp_path / "report.json").write_text(to_json.to_json(report))

    with pytest.raises(SystemExit) as ended:
        cli.main(["report", "show", str(tmp_path), "--format", "notebook"])

    assert ended.value.code == 1
    assert capsys.readouterr().out == to_notebook(to_json.from_json(to_json.to_json(report)))
    with pytest.raises(SystemExit) as ended:
        cli.main(["report", "show", str(tmp_path), "--format", "notebook", "--json"])
    assert ended.value.code == 2
