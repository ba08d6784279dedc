"""Reading environment records back, wherever one stands: run folder, golden, report, bare file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprokit.core import fingerprint
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.errors import ReportError
from reprokit.layout import ENVIRONMENT, PROVENANCE, REPORT
from reprokit.records.strict import FormError, typed

#: Where a record stands in a folder: a run's, a golden's, a report's, an unfinished run's.
_PLACES = (ENVIRONMENT, PROVENANCE, REPORT, "output/environment.json")
_MOST_BYTES = 64 << 20


def read_record(path: Path) -> EnvironmentRecord:
    """The environment record of a run, a golden, a report, or a JSON file that is or holds one.

    A folder of goldens (``golden/<recipe>``) will do while all were made in one environment.

    Raises:
        ReportError: There is nothing there, it is not a record, or it is several different ones.
    """
    if not path.is_dir():
        return _record_in(path)
    for name in _PLACES:
        if (path / name).is_file():
            return _record_in(path / name)
    below = sorted(path.glob("**/provenance.json"))
    if not below:
        raise ReportError(
            "no environment record in this folder",
            where=str(path),
            expected=" or ".join(_PLACES[:3]),
            fix="name a run folder, a golden's folder, or a record of `reprokit env capture --output`",
        )
    records = {file: _record_in(file) for file in below}
    if len({fingerprint.fingerprint(record) for record in records.values()}) > 1:
        raise ReportError(
            "goldens of several environments in this folder",
            where=str(path),
            fix="name one of them: " + ", ".join(str(file.parent) for file in below),
        )
    return records[below[0]]


def _record_in(file: Path) -> EnvironmentRecord:
    value = _json(file)
    for candidate in (value, value.get("environment") if isinstance(value, Mapping) else None):
        if isinstance(candidate, Mapping):
            if isinstance(candidate.get("inside"), Mapping) or isinstance(candidate.get("host"), Mapping):
                return _checked(candidate, file)
            if isinstance(candidate.get("packages"), Mapping):  # straight from the probe
                return _checked({"inside": candidate}, file)
    raise ReportError(
        "not an environment record",
        where=str(file),
        expected="JSON with the sections inside and host",
        fix="write one with `reprokit env capture --output FILE`",
    )


def _checked(value: Mapping[str, Any], file: Path) -> EnvironmentRecord:
    try:
        return typed(value, EnvironmentRecord)
    except FormError as error:
        raise ReportError(
            f"not an environment record: {error.place!r} has a value of the wrong type",
            where=str(file),
            expected=error.expected,
            actual=error.actual,
            fix="write one with `reprokit env capture --output FILE`",
        ) from error


def _json(file: Path) -> Any:
    try:
        if not file.is_file():
            raise ReportError("no such file or folder", where=str(file))
        if file.stat().st_size > _MOST_BYTES:
            raise ReportError(
                "too large for an environment record", where=str(file), expected="at most 64 MiB"
            )
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"cannot be read: {error.strerror}", where=str(file)) from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"not JSON: {error}", where=str(file)) from error
