"""Which extensions were loaded when runs were made or judged, and what each had to do with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reprokit import adapters, extensions
from reprokit.core.evidence import VariedEvidence
from reprokit.core.extension_record import RecordedExtension, ReportedExtension
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts.rows import listed
from reprokit.errors import MetricsError
from reprokit.extensions.rows import Row
from reprokit.extensions.sections import Section


def extensions_of(
    records: Sequence[RunRecord], folders: Sequence[Path], *, varied: VariedEvidence | None
) -> tuple[ReportedExtension, ...]:
    """Those of the runs and those of this process, each once.

    Args:
        records: ``run.json`` of each run that is judged.
        folders: The folders of plain commands, whose logs are read where they lie.
        varied: The runs beside them whose conditions were varied.
    """
    now = extensions.recorded()
    every = dict.fromkeys([*(one for record in records for one in record.extensions), *now])
    if not every:
        return ()
    read = _formats(records, folders)
    own = {one.named.name: one for one in extensions.loaded()}
    made = {name for run in (varied.runs if varied else ()) for name in run.names}
    found = []
    for one in every:
        there = own.get(one.name)
        variations = sorted(made & set(there.names("variations"))) if there else []
        rows = there.names("rows") if there else ()
        found.append(
            ReportedExtension(
                name=one.name,
                version=one.version,
                digest=one.digest,
                had_say=tuple(_had_say(one, read, records)),
                beside=(
                    *([f"its variation {listed(variations)} was made"] if variations else ()),
                    *([f"its row {listed(rows)} is advisory"] if rows else ()),
                ),
            )
        )
    return tuple(found)


def must_be_there() -> None:
    """Refuse, before anything is run, a row or a section that an extension declares and does not have.

    Raises:
        UsageError: One is not there.
    """
    extensions.must_be_there("rows", form=Row)
    extensions.must_be_there("sections", form=Section)


def missing_of(named: Iterable[RecordedExtension], *, whose: str) -> str:
    """Why what a golden was promoted with cannot be judged here, one sentence; "" where it can."""
    for one in named:
        why = extensions.why_not_loaded({"name": one.name, "version": one.version}, digest=one.digest)
        if why:
            return f"{whose} was promoted with it, and {why}"
    return ""


def _had_say(one: RecordedExtension, read: Mapping[str, str], records: Sequence[RunRecord]) -> Iterable[str]:
    for form in one.log_formats:
        if sources := sorted(name for name, by in read.items() if by == form):
            yield f"its log format {form} read {listed(sources)}"
    for place in one.places:
        if any(record.where == place for record in records):
            yield f"its place {place} ran them"


def _formats(records: Sequence[RunRecord], folders: Sequence[Path]) -> dict[str, str]:
    """Source of metrics → the log format that read it."""
    found = {name: form for record in records for name, form in record.sources.items()}
    for folder in folders:
        try:
            found |= {source.name: source.adapter for source in adapters.find_all(folder)}
        except MetricsError:
            continue
    return found
