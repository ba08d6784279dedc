"""A report as a PDF of at most four pages, with ``report.json`` inside: equal reports give equal bytes.

The fonts are those inside typst, never the machine's, and no date is written.

Source: https://typst.app/docs/reference/pdf/attach/; ISO 32000-1, 7.11.4 (embedded file streams).
"""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from reprokit import extras
from reprokit.core.checklist import Report
from reprokit.errors import ReportError
from reprokit.regular_file import read_regular
from reprokit.reports.formats import to_json
from reprokit.reports.pages.paper import ROOMS, paper

MOST_PAGES = 4
_BEGIN = b"%PDF-"
_MOST_BYTES = 256 << 20
_PROGRAM = re.compile(rb"/Creator\(Typst ([\w.+-]{1,40})\)")
# No text of a report has a line end, so that none can begin an object.
_ATTACHED = re.compile(
    rb"[\r\n]\d{1,10} 0 obj\s*"
    rb"<<((?:(?!endobj|stream).){0,400}?/Type\s*/EmbeddedFile\b(?:(?!endobj|stream).){0,400}?)>>"
    rb"\s*stream\r?\n",
    re.DOTALL,
)
_LENGTH = re.compile(rb"/Length\s+(\d{1,10})\b(?!\s+\d+\s+R)")


def to_pdf(report: Report) -> bytes:
    """The pages, with as much of every part as there is room for.

    Raises:
        MissingExtraError: typst is not installed.
        ReportError: The report breaks its own schema.
    """
    extras.must_have("typst")
    truth = to_json.to_json(report)
    read_back = to_json.from_json(truth)
    for room in ROOMS:
        inputs = {"report": truth, "found": json.dumps(paper(read_back, room), allow_nan=False)}
        if _num_pages(inputs) <= MOST_PAGES:
            break
    import typst  # noqa: PLC0415  (an extra)

    return bytes(typst.compile(_template(), sys_inputs=inputs, ignore_system_fonts=True))


def is_pdf(path: Path) -> bool:
    """Whether a file begins as a PDF does."""
    try:
        return path.is_file() and read_regular(path, most_bytes=len(_BEGIN)) == _BEGIN
    except OSError:
        return False


def load(path: Path) -> Report:
    """The report inside a PDF, read as strictly as a ``report.json``.

    Raises:
        ReportError: The file cannot be read, or has none.
    """
    return to_json.from_json(report_inside(_bytes(path), where=str(path)), where=f"report.json in {path}")


def is_drawn_from(report: Report, path: Path) -> bool:
    """Whether a PDF is, byte for byte, what this report gives here.

    Raises:
        MissingExtraError: typst is not installed.
    """
    return _bytes(path) == to_pdf(report)


def typst_of(path: Path) -> str:
    """The version of typst that a PDF says it is of; "" if it says none."""
    return _version(_bytes(path))


def report_inside(pdf: bytes, *, where: str) -> bytes:
    """The ``report.json`` that ``to_pdf`` put into a PDF.

    Raises:
        ReportError: There is none, or more than one file.
    """
    found = list(_attached(pdf))
    if len(found) == 1:
        head, stored = found[0]
        if b"/FlateDecode" not in head:
            return stored
        with contextlib.suppress(zlib.error):
            return zlib.decompressobj().decompress(stored, _MOST_BYTES)
    raise ReportError(
        "there is no report.json in this PDF",
        where=where,
        expected="a file that `reprokit report show --pdf` wrote, unchanged",
    )


def typst_here() -> str:
    """The version of typst that draws pages here, as it writes it into them.

    Raises:
        MissingExtraError: typst is not installed.
    """
    extras.must_have("typst")
    import typst  # noqa: PLC0415  (an extra)

    return _version(bytes(typst.compile(b"#set document(date: none)", ignore_system_fonts=True)))


def _attached(pdf: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The dictionary and the bytes of each embedded file; what stands inside one is no other."""
    at = 0
    while found := _ATTACHED.search(pdf, at):
        at = found.end()
        if length := _LENGTH.search(found[1]):
            at += int(length[1])
            yield found[1], pdf[found.end() : at]


def _version(pdf: bytes) -> str:
    found = _PROGRAM.search(pdf)
    return found[1].decode("ascii") if found else ""


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise ReportError(f"cannot read the PDF: {error.strerror or error}", where=str(path)) from error


def _num_pages(inputs: dict[str, str]) -> int:
    import typst  # noqa: PLC0415  (an extra)

    (found,) = json.loads(
        typst.query(_template(), "<pages>", field="value", sys_inputs=inputs, ignore_system_fonts=True)
    )
    return int(found)


def _template() -> bytes:
    template: Any = resources.files("reprokit.reports") / "templates" / "report.typ"
    return bytes(template.read_bytes())
