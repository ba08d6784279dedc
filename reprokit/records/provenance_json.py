"""``provenance.json`` of a golden or an ensemble, read: as a ``Provenance``, or refused with the reason."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from reprokit.compressed import MOST_BYTES
from reprokit.core import inputs
from reprokit.core.provenance import BlessedMetric, LogsOfSeeds, Provenance
from reprokit.core.records import SCHEMA_VERSION, digest, digest_bytes
from reprokit.errors import GoldenError
from reprokit.records.newer import refuse_newer_schema
from reprokit.records.strict import FormError, typed
from reprokit.regular_file import read_regular

RESTORE = "restore it with git, or promote new runs with `reprokit golden promote`"

_MAX_BYTES = 16_000_000
_SEAL = "seal"
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_OF_BOTH = (
    *("schema", "recipe", "platform", "created_at", "reason", "digests", "image", "fingerprint"),
    *("fingerprint_facts", "environment", "config", "previous", "tool"),
)
_OF_GOLDEN = (*_OF_BOTH, "seed", "runs_agreed", "tolerances")
_OF_ENSEMBLE = (*_OF_BOTH, "seeds", "statistical", "halves")
_MAY_BE_NULL = frozenset({"previous"})
_NEVER_NULL = frozenset({"cpu", "foreign", "left_out", "logs"})
_WHOLE = frozenset({"sizes", "responds", "statistical", "left_out", "logs"})


def read_golden(file: Path) -> tuple[Provenance, dict[str, Any]]:
    """The provenance of a golden, and the text that it was read from.

    Raises:
        GoldenError: It is missing, too large, not JSON, or something is wrong with it.
    """
    document = _document(file)
    record = _record(document, file, needed=_OF_GOLDEN)
    _refuse(_problem_of_golden(record), file)
    return record, document


def read_ensemble(file: Path) -> tuple[Provenance, dict[str, Any]]:
    """The same of an ensemble.

    Raises:
        GoldenError: It is missing, too large, not JSON, or something is wrong with it.
    """
    document = _document(file)
    record = _record(document, file, needed=_OF_ENSEMBLE)
    _refuse(_problem_of_ensemble(record, document["statistical"]), file)
    return record, document


def judged_digest(
    statistical: Sequence[BlessedMetric], left_out: Sequence[int] = (), logs: LogsOfSeeds | None = None
) -> str:
    """Digest of what is judged: metric, window, margin and direction of each entry; seeds left out; logs."""
    entries: list[Mapping[str, Any]] = [one._asdict() for one in statistical]
    entries += [{"left_out": list(left_out)}] if left_out else []
    return digest([*entries, {"logs": logs._asdict()}] if logs else entries)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with a digest of itself, by which an edit by hand is noticed."""
    return {**document, _SEAL: _digest_of_the_rest(document)}


def was_edited(document: Mapping[str, Any]) -> bool:
    """Whether a document is not as it was written; of older ones, without such a digest, no one can say."""
    return _SEAL in document and document[_SEAL] != _digest_of_the_rest(document)


def _digest_of_the_rest(document: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in document.items() if name != _SEAL}
    return digest_bytes(json.dumps(rest, sort_keys=True).encode())  # in ASCII: a reason may hold odd bytes


def is_digest(value: object) -> bool:
    """Whether a value is a SHA-256 as files name it."""
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _document(file: Path) -> dict[str, Any]:
    def malformed(what: str) -> NoReturn:
        raise GoldenError(what, where=str(file), fix=RESTORE)

    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            malformed("a key is repeated")
        return dict(pairs)

    if file.is_symlink() or not file.is_file():
        malformed("the file is missing")
    if file.stat().st_size > _MAX_BYTES:
        malformed(f"the file is larger than {_MAX_BYTES} bytes")
    try:
        value = json.loads(
            read_regular(file).decode("utf-8"),
            object_pairs_hook=no_repeats,
            parse_constant=lambda word: malformed(f"{word} is not JSON"),
        )
    except (ValueError, RecursionError) as error:
        raise GoldenError(f"not JSON: {error}", where=str(file), fix=RESTORE) from error
    if not isinstance(value, dict):
        malformed("not a JSON object")
    return value


def _record(document: Mapping[str, Any], file: Path, *, needed: Sequence[str]) -> Provenance:
    schema = document.get("schema")
    refuse_newer_schema(schema, name=file.name, where=str(file), error=GoldenError)
    if schema != SCHEMA_VERSION:
        _refuse(f"schema {schema!r} is not known; this reprokit reads {SCHEMA_VERSION}", file)
    for name in needed:
        if name not in document or (document[name] is None and name not in _MAY_BE_NULL):
            _refuse(f"{name!r} is missing or of the wrong type", file)
    for name in _NEVER_NULL.intersection(document):
        if document[name] is None:
            _refuse(f"{name!r} is of the wrong type", file)
    try:
        return typed(document, Provenance)
    except FormError as error:
        raise GoldenError(_wrong(error.place, needed), where=str(file), fix=RESTORE) from error


def _wrong(place: str, needed: Sequence[str]) -> str:
    """What is said of a value that is not of the form that its key has."""
    key, _, below = place.partition(".")
    if key in _WHOLE:
        return f"{key!r} is malformed"
    if key == "digests" and below:
        return f"the digest of {below!r} is missing or malformed"
    return f"{place!r} is {'missing or ' if key in needed else ''}of the wrong type"


def _refuse(problem: str, file: Path) -> None:
    if problem:
        raise GoldenError(problem, where=str(file), fix=RESTORE)


def _problem_of_golden(record: Provenance) -> str:
    """What is wrong with the values of a golden's provenance, each of the right type; "" where nothing is."""
    traced = ("trace",) if "program" not in record.digests or "trace" in record.digests else ()
    of_runs = (*inputs.names_in(record.digests), "metrics", *traced)
    if problem := _problem_of_digests(record, of_runs if record.foreign is None else ("metrics",)):
        return problem
    if record.sizes is not None and not all(0 < size <= MOST_BYTES for size in record.sizes.values()):
        return "'sizes' is malformed"
    return "'responds' is malformed" if record.responds is not None and not record.responds.metrics else ""


def _problem_of_ensemble(record: Provenance, entries: Sequence[Mapping[str, Any]]) -> str:
    """The same of an ensemble; ``entries`` are ``statistical`` as it stands in the file."""
    if problem := _problem_of_digests(record, (*inputs.names_in(record.digests), "ensemble")):
        return problem
    if not record.statistical or not all(map(_is_blessed, record.statistical, entries)):
        return "'statistical' is malformed"
    if record.logs is not None and len(record.logs.records) != 2:
        return "'logs' is malformed"
    judged = judged_digest(record.statistical, record.left_out, record.logs)
    if record.digests.get("statistical") != judged:
        return "'statistical' is not what was promoted: its digest differs"
    return ""


def _problem_of_digests(record: Provenance, names: Sequence[str]) -> str:
    bad = next((name for name in names if not is_digest(record.digests.get(name))), None)
    return "" if bad is None else f"the digest of {bad!r} is missing or malformed"


def _is_blessed(one: BlessedMetric, entry: Mapping[str, Any]) -> bool:
    """Whether an entry is one that can be judged, and says no more than the digest covers."""
    is_margin = isinstance(one.margin, float) and 0 < one.margin < math.inf
    return set(entry) == set(one._fields) and is_margin and one.direction in {"higher", "lower"}
