"""Downloads a file: resumed where it was cut, compared with its digest, from the first place that has it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from reprokit import extras
from reprokit.data.partial_file import PartialFile
from reprokit.data.places import fsspec_place, local_place, package_place
from reprokit.data.sources import LOCAL, DataSource, protocol_of
from reprokit.data.transfer import PlaceRefusedError, Transfer, TransferCutError
from reprokit.errors import DataError
from reprokit.redaction import redact_text

#: Told the source, the bytes that are there, and what happened where that is worth a line.
OnProgress = Callable[[DataSource, int, str], None]

_ATTEMPTS = 5  # that bring not one new byte, one after the other
_WAIT_S = 0.2  # before the first of them is repeated; twice as long each time


def download(
    source: DataSource, final: Path, *, partial: Path, offline: bool, on_progress: OnProgress
) -> None:
    """Fetch a file into ``final``, which appears whole and as declared or not at all.

    Raises:
        DataError: No place has it.
        UsageError: A place is one that needs a package which is not installed.
        WorkspaceError: The cache cannot be written, or the disk is full.
    """
    problems: list[str] = []
    with PartialFile(partial) as target:
        if target.num_bytes > source.num_bytes:
            target.restart()
        target.must_fit(source.num_bytes)
        for place in source.places:
            if offline and protocol_of(place) not in LOCAL:
                problems.append(f"{_shown(place)} is not asked: offline")
                continue
            try:
                _from_place(source, place, target, on_progress=on_progress)
            except PlaceRefusedError as error:
                problems.append(f"{_shown(place)}: {error}")
                on_progress(source, target.num_bytes, problems[-1])
            else:
                target.become(final)
                return
        if not target.num_bytes:
            target.discard()
    raise DataError(
        f"the data {source.name} could not be fetched: {'; '.join(problems) or 'it names no place'}",
        where=source.where,
        fix="fetch it on a machine with a network" if offline else "correct the URL, the size or the SHA-256",
    )


def _from_place(source: DataSource, place: str, target: PartialFile, *, on_progress: OnProgress) -> None:
    """The whole file, as declared, in ``target``; begun again once where what was there is at fault."""
    resumed = target.num_bytes > 0
    _to_the_end(source, place, target, on_progress=on_progress)
    if target.sha256 != source.sha256 and resumed:
        on_progress(source, 0, "what an earlier attempt left is not part of this file: started again")
        target.restart()
        _to_the_end(source, place, target, on_progress=on_progress)
    if target.sha256 != source.sha256:
        actual = target.sha256
        target.restart()
        raise PlaceRefusedError(f"not the declared file: expected {source.sha256}, got {actual}")


def _to_the_end(source: DataSource, place: str, target: PartialFile, *, on_progress: OnProgress) -> None:
    """Append until the file has its declared size."""
    attempts = 0
    while True:
        before, why = target.num_bytes, "it ended too early"
        try:
            _once(source, place, target, on_progress=on_progress)
        except TransferCutError as error:
            why = str(error)
        if target.num_bytes == source.num_bytes:
            return
        attempts = 1 if target.num_bytes > before else attempts + 1
        if attempts >= _ATTEMPTS:
            raise PlaceRefusedError(f"{why}, {attempts} times in a row")
        on_progress(source, target.num_bytes, f"{why}; resumed at byte {target.num_bytes:,}")
        if attempts > 1:
            time.sleep(_WAIT_S * 2 ** (attempts - 2))


def _once(source: DataSource, place: str, target: PartialFile, *, on_progress: OnProgress) -> None:
    """Append what one answer brings; refused as soon as it cannot be the declared file."""
    if target.num_bytes == source.num_bytes:
        return
    with _opened(place, offset=target.num_bytes) as transfer:
        page = " (a web page: this URL shows the data, or asks for a login)" if transfer.is_web_page else ""
        if transfer.total_bytes not in {None, source.num_bytes}:
            raise PlaceRefusedError(
                f"expected {source.num_bytes:,} bytes, the place has {transfer.total_bytes:,}{page}"
            )
        if transfer.begins_at != target.num_bytes:
            target.restart()
        for block in transfer.blocks:
            if target.num_bytes + len(block) > source.num_bytes:
                target.restart()
                raise PlaceRefusedError(f"it sends more than {source.num_bytes:,} bytes{page}")
            target.append(block)
            on_progress(source, target.num_bytes, "")


def _opened(place: str, *, offset: int) -> AbstractContextManager[Transfer]:
    protocol = protocol_of(place)
    if protocol in {"http", "https"}:
        extras.must_have("requests", "urllib3")
        from reprokit.data.places import http_place  # noqa: PLC0415  (an extra)

        return http_place.opened(place, offset=offset)
    if protocol == "file":
        return local_place.opened(place, offset=offset)
    if protocol == package_place.PROTOCOL:
        return package_place.opened(place, offset=offset)
    if protocol in fsspec_place.PROTOCOLS:
        return fsspec_place.opened(place, offset=offset)
    raise PlaceRefusedError(f"nothing reads {protocol}:// URLs")


def _shown(place: str) -> str:
    return redact_text(place)[:300]
