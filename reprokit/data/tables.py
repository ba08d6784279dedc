"""Reads tables as rows of text and numbers, one at a time: files, and folders of images or documents.

A row is a mapping of column → value; its identity is a digest of all its values, or of the columns that a
person names. The order of columns does not matter. A form is a kind of table, and what more its reader must
know: ``csv``, ``csv/no-header``, ``h5/train``, ``images``, ``lines``, ``documents``, ``tokens/uint16/64``.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO, cast

from reprokit.core.records import digest
from reprokit.data import columnar, folders, hdf5, images, texts, tokens
from reprokit.errors import UsageError
from reprokit.records.strict import without_repeats

#: Tables by the end of their name alone, wherever they lie.
SUFFIXES = (".csv", ".tsv", ".jsonl", *(f".{form}" for form in columnar.FORMS))
_FORM_OF_SUFFIX = {
    **{suffix: suffix.removeprefix(".") for suffix in SUFFIXES},
    **dict.fromkeys(hdf5.SUFFIXES, hdf5.FORM),
    ".npy": tokens.FORM,
    ".txt": texts.LINES,
}
KINDS = (*(one.removeprefix(".") for one in SUFFIXES), "h5", "images", "lines", "documents", "tokens")
#: What makes two rows the same thing, of forms whose other columns say where it stands or how it is kept.
_SAME_BY = {images.FORM: ("pixels",), texts.DOCUMENTS: ("text",), tokens.FORM: ("tokens",)}
_LONGEST_FIELD = 16 << 20
_GZIP, _GZIP_MAGIC = ".gz", b"\x1f\x8b"
_TEXT_TABLES = (".csv", ".tsv", ".jsonl")  # those that may be compressed by gzip
_NO_HEADER = "no-header"
_UNREADABLE = (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataRow:
    """One row, and the line of its file that it ends on, counted from 1; without lines, its number.

    Attributes:
        same_by: Columns that tell whether two rows are the same thing; all of them where empty.
    """

    line: int
    values: Mapping[str, Any]
    same_by: tuple[str, ...] = ()

    def identity(self, columns: Sequence[str] = ()) -> str:
        """Digest of all values, or of those of some columns; ``1`` and ``1.0`` in JSON are two values."""
        return digest({name: self.values[name] for name in columns} if columns else dict(self.values))

    def thing(self, columns: Sequence[str] = ()) -> str:
        """The identity by some columns, or by ``same_by``: two images of equal pixels are one thing."""
        return self.identity(columns or self.same_by)


def rows(path: Path, *, form: str = "", columns: Sequence[str] = ()) -> Iterator[DataRow]:
    """The rows of a table, in its order.

    Args:
        path: The file.
        form: How it is read; by the file's name where it is "".
        columns: Columns that every row must have.

    Raises:
        UsageError: It is no such table; the message names file and line.
    """
    form = form or form_of(path)
    try:
        for row in _each(path, form):
            if lacking := [name for name in columns if name not in row.values]:
                raise UsageError(f"there is no column {lacking[0]!r}", where=f"{path}:{row.line}")
            yield row
    except _UNREADABLE as error:
        raise UsageError(f"the table cannot be read: {error}", where=str(path)) from error


def columns_of(path: Path, form: str) -> list[str]:
    """The columns that a file names apart from its rows; [] of a format that names none.

    Raises:
        UsageError: It is no such table.
    """
    if form in columnar.FORMS:
        return list(columnar.arrow_table(path, form).column_names)
    if form not in {"csv", "tsv"}:
        return []  # also of a file whose rows have no names
    try:
        with _opened(path) as stream:
            return _header(_csv_reader(stream, form), path)
    except _UNREADABLE as error:
        raise UsageError(f"the table cannot be read: {error}", where=str(path)) from error


def form_of(path: Path) -> str:
    """The form that the end of a name stands for; a folder or an archive is one of images.

    Raises:
        UsageError: It ends otherwise.
    """
    suffix = path.with_suffix("").suffix if path.suffix == _GZIP and not path.is_dir() else path.suffix
    if suffix in (_TEXT_TABLES if path.suffix == _GZIP else _FORM_OF_SUFFIX):
        return _FORM_OF_SUFFIX[suffix]
    if path.is_dir() or path.name.endswith(folders.ENDINGS):
        return images.FORM
    raise UsageError(
        "not a table",
        where=str(path),
        expected=f"a name that ends in {', '.join(_FORM_OF_SUFFIX)}, or a form after it: {path.name}::FORM",
    )


def kind_of(form: str) -> str:
    """What stands before the first ``/`` of a form."""
    return form.partition("/")[0]


def table_bytes(found: Sequence[DataRow], *, form: str, columns: Sequence[str] = ()) -> bytes:
    """Rows as a file of ``csv``, ``tsv`` or ``jsonl``; ``columns`` is the header where there is no row."""
    if form == "jsonl":
        lines = (json.dumps(dict(row.values), ensure_ascii=False) for row in found)
        return "".join(f"{line}\n" for line in lines).encode()
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t" if form == "tsv" else ",", lineterminator="\n")
    header = list(found[0].values) if found else list(columns)
    writer.writerow(header)
    writer.writerows([row.values[name] for name in header] for row in found)
    return out.getvalue().encode()


def _each(path: Path, form: str) -> Iterator[DataRow]:
    if (kind := kind_of(form)) not in KINDS or not _is_known(form, kind):
        raise UsageError(f"not a known form: {form}", where=str(path), expected=", ".join(KINDS))
    if numbered := _numbered(path, form, kind):
        same_by = _SAME_BY.get(kind, ())
        yield from (DataRow(line=number, values=values, same_by=same_by) for number, values in numbered)
        return
    with _opened(path) as stream:
        yield from _json_rows(stream, path) if form == "jsonl" else _csv_rows(stream, path, form=form)


def _is_known(form: str, kind: str) -> bool:
    if kind in {"csv", "tsv"}:
        return form in {kind, f"{kind}/{_NO_HEADER}"}
    return form == kind or kind in {hdf5.FORM, tokens.FORM}


def _numbered(path: Path, form: str, kind: str) -> Iterator[tuple[int, Mapping[str, Any]]] | None:
    """Number and values of each row, of a form that is read by a module of its own; else None."""
    if kind in columnar.FORMS:
        return enumerate(columnar.rows_of(path, form), start=1)
    if kind == hdf5.FORM:
        return enumerate(hdf5.rows_of(path, form), start=1)
    if kind == images.FORM:
        return enumerate(images.rows_of(path), start=1)
    if kind == tokens.FORM:
        return enumerate(tokens.rows_of(path, form), start=1)
    if kind == texts.LINES:
        return texts.lines_of(path)
    return texts.documents_of(path) if kind == texts.DOCUMENTS else None


def _opened(path: Path) -> TextIO:
    """The text of a file, unpacked where gzip packed it, without a mark of its byte order."""
    with path.open("rb") as stream:
        packed = stream.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    opened = partial(gzip.open, path, "rt") if packed else path.open
    return cast("TextIO", opened(encoding="utf-8-sig", newline=""))


def _csv_reader(stream: TextIO, form: str) -> Any:
    csv.field_size_limit(_LONGEST_FIELD)
    return csv.reader(stream, delimiter="\t" if kind_of(form) == "tsv" else ",", strict=True)


def _header(reader: Any, path: Path) -> list[str]:
    header: list[str] | None = next(reader, None)
    if not header:
        raise UsageError("the table has no header", where=f"{path}:1")
    if len(set(header)) < len(header):
        raise UsageError("the header names a column twice", where=f"{path}:1")
    return header


def _csv_rows(stream: Any, path: Path, *, form: str) -> Iterator[DataRow]:
    reader = _csv_reader(stream, form)
    first = list(islice(reader, 1)) if form.endswith(_NO_HEADER) else []
    header = _numbers_as_names(len(first[0])) if first else _header(reader, path)
    for values in chain(first, reader):
        if len(values) != len(header):
            raise UsageError(
                "the row and the header have different numbers of fields",
                where=f"{path}:{reader.line_num}",
                expected=str(len(header)),
                actual=str(len(values)),
            )
        yield DataRow(line=reader.line_num, values=dict(zip(header, values, strict=True)))


def _numbers_as_names(count: int) -> list[str]:
    """``01``, ``02``, …: as many digits each, so that they sort as they stand."""
    return [f"{number:0{len(str(count))}}" for number in range(1, count + 1)]


def _json_rows(stream: Any, path: Path) -> Iterator[DataRow]:
    for line, text in enumerate(stream, start=1):
        where = f"{path}:{line}"
        try:
            values = json.loads(
                text, object_pairs_hook=without_repeats, parse_constant=_finite, parse_float=_finite
            )
        except (ValueError, RecursionError) as error:
            raise UsageError(f"not a JSON object: {error}", where=where) from error
        if not isinstance(values, dict):
            raise UsageError("not a JSON object", where=where)
        if "\\ud" in text.lower():
            _must_be_characters(values, where)
        yield DataRow(line=line, values=values)


def _must_be_characters(values: Mapping[str, Any], where: str) -> None:
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise UsageError(
            f"a text holds half of a surrogate pair, {half}, which is not a character",
            where=where,
            expected="both halves, such as \\ud83d\\ude00, or the character itself",
            fix="correct the text, or take the row out",
        ) from error


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a number that a float can hold")
    return number
