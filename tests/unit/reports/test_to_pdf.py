"""The PDF of a report, looked at by another reader: few pages, equal bytes, report.json inside, text only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pypdfium2
import pytest
import typst

from reprokit.core.checklist import Report, Verdict
from reprokit.core.report_parts import DrawnCurve, FileChange
from reprokit.errors import ReportError
from reprokit.reports.escaping import one_line
from reprokit.reports.formats import to_json, to_pdf
from reprokit.reports.pages import paper
from support import hostile

Sample = Callable[[Verdict], Report]


def texts(pdf: bytes) -> list[str]:
    """What stands on each page, without the ends of its lines."""
    with pypdfium2.PdfDocument(pdf) as document:
        pages = [document[number].get_textpage().get_text_bounded() for number in range(len(document))]
    return ["".join(page.split()) for page in pages]


def attached(pdf: bytes) -> dict[str, bytes]:
    with pypdfium2.PdfDocument(pdf) as document:
        found = [document.get_attachment(number) for number in range(document.count_attachments())]
        return {one.get_name(): bytes(one.get_data()) for one in found}


def joined(text: str) -> str:
    return "".join(text.split())


def long_report(sample: Report) -> Report:
    """More of everything than four pages can show."""
    rows = [
        dataclasses.replace(row, id=f"{row.id}_{number}", reason=f"{row.reason} and so on " * 40)
        for number in range(20)
        for row in sample.checks
    ]
    (name, curves), *_ = sample.curves.items()
    file = FileChange(path="train.py", added=500, removed=0, diff=tuple(f"+line {at}" for at in range(500)))
    changes = dataclasses.replace(
        sample.code_changes, files=[dataclasses.replace(file, path=f"part_{at}.py") for at in range(300)]
    )
    return dataclasses.replace(
        sample,
        checks=tuple(rows),
        curves={f"{name}/{at}": curves for at in range(40)},
        code_changes=changes,
        next_command=", then: ".join(f"step {at}" for at in range(200)),
        rerun="reprokit " + "x" * 15_000,
    )


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_pdf_says_the_verdict_and_why_has_all_rows_and_the_report_itself(
    sample_report: Sample, verdict: Verdict
) -> None:
    report = sample_report(verdict)

    pdf = to_pdf.to_pdf(report)

    pages = texts(pdf)
    assert 1 <= len(pages) <= to_pdf.MOST_PAGES
    assert pages[0].index(verdict.value) < pages[0].index(joined(report.sentence))
    assert all(joined(row.id) in "".join(pages) for row in report.checks)
    assert attached(pdf) == {"report.json": to_json.to_json(report).encode()}
    assert to_pdf.report_inside(pdf, where="x") == to_json.to_json(report).encode()


def test_equal_reports_give_equal_bytes_and_others_do_not(sample_report: Sample) -> None:
    report = sample_report(Verdict.REGRESSION)

    pdf = to_pdf.to_pdf(report)

    assert to_pdf.to_pdf(to_json.from_json(to_json.to_json(report))) == pdf
    assert to_pdf.to_pdf(dataclasses.replace(report, seed=7)) != pdf


def test_a_long_report_is_cut_to_four_pages_and_says_so(sample_report: Sample) -> None:
    pdf = to_pdf.to_pdf(long_report(sample_report(Verdict.REGRESSION)))

    pages = texts(pdf)
    assert len(pages) <= to_pdf.MOST_PAGES
    assert "REGRESSION" in pages[0]
    whole = "".join(pages)
    for what in ("rows", "lines", "files", "charts", "steps"):
        assert f"more{what}:seetheHTMLpage" in whole
    assert "morecharacters" in whole


@pytest.mark.parametrize(
    "text",
    [
        *('#panic() #read("/etc/passwd")', "$ x^2 $ *bold* _it_ @label <pages>", "\\u{41} // /* ` ```"),
        *("<</Type/EmbeddedFile/Length 3>>\nstream\n{}\nendstream", "endstream\nendobj /Type/Page/"),
        *hostile.SCRIPTS[:2],
        *hostile.TERMINAL[:2],
    ],
)
def test_hostile_texts_are_text(sample_report: Sample, samples: ModuleType, text: str) -> None:
    report = samples.with_text(sample_report(Verdict.REGRESSION), text)

    pdf = to_pdf.to_pdf(report)

    pages = texts(pdf)
    assert len(pages) <= to_pdf.MOST_PAGES
    assert joined(one_line(text)) in "".join(pages)
    assert to_pdf.report_inside(pdf, where="x") == attached(pdf)["report.json"]


def test_every_sign_that_is_left_as_it_is_has_a_glyph() -> None:
    signs = "".join(sign for sign in map(chr, range(0x20, 0x3000)) if not paper.NO_SIGN.match(sign))
    assert len(signs) > 300
    source = (
        '#set document(title: "t", date: datetime(year: 2026, month: 1, day: 1))\n'
        '#set text(lang: "en", font: ("Libertinus Serif", "DejaVu Sans Mono"))\n'
        '#sys.inputs.signs\n\n#text(font: "DejaVu Sans Mono", sys.inputs.signs)'
    )
    # This standard forbids signs that no font has.
    pdf = typst.compile(
        source.encode(), ignore_system_fonts=True, sys_inputs={"signs": signs}, pdf_standards=["a-2b"]
    )
    assert pdf


def test_a_name_in_signs_that_the_fonts_lack_is_spelt_by_their_numbers(sample_report: Sample) -> None:
    report = dataclasses.replace(sample_report(Verdict.REPRODUCED), recipe="訓練")

    assert r"\u8a13\u7df4" in texts(to_pdf.to_pdf(report))[0]


def test_the_curves_are_drawn(sample_report: Sample) -> None:
    report = sample_report(Verdict.REGRESSION)
    flat = {name: [straight(one) for one in curves] for name, curves in report.curves.items()}

    without = dataclasses.replace(report, curves={})

    assert len(colours(to_pdf.to_pdf(report))) > len(colours(to_pdf.to_pdf(without)))
    assert to_pdf.to_pdf(dataclasses.replace(report, curves=flat)) != to_pdf.to_pdf(report)


def straight(curve: DrawnCurve) -> DrawnCurve:
    return dataclasses.replace(curve, values=[0.5 for _ in curve.values])


def colours(pdf: bytes) -> set[tuple[int, ...]]:
    with pypdfium2.PdfDocument(pdf) as document:
        pictures = [document[number].render(scale=1).to_pil() for number in range(len(document))]
    return {colour for one in pictures for _, colour in one.getcolors(1 << 24)}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-1.7\n",
        b"%PDF-1.7\n1 0 obj\n<</Type/EmbeddedFile/Length 3>>\nstream\n{}\n\nendstream" * 2,
        b"%PDF-1.7\n1 0 obj\n<</Type/EmbeddedFile/Length 99999999999>>\nstream\n{}\n",
        b"%PDF-1.7\n1 0 obj\n<</Type/EmbeddedFile/Length 3/Filter/FlateDecode>>\nstream\nxyz\n",
    ],
    ids=["empty", "no file", "two files", "no length", "not packed"],
)
def test_a_pdf_without_one_readable_report_is_no_report(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "x.pdf"
    file.write_bytes(data)

    with pytest.raises(ReportError):
        to_pdf.load(file)


def test_the_environment_of_the_run_stands_on_paper_under_its_headings(sample_report: Sample) -> None:
    whole = "".join(texts(to_pdf.to_pdf(sample_report(Verdict.REPRODUCED))))

    assert "hardwarecpu_model" in whole
    assert "packagesgymnasium" in whole
    assert whole.index("Environment") < whole.index("Runsandtiming")
