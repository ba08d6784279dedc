"""Promoting a run to be the golden: what it must meet, and writing it down.

Runs agree when their files are the same bytes; no number is judged here.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import __version__
from reprokit.compressed import MOST_BYTES, compress, sha256_of_stored, stored
from reprokit.core.inputs import names_in
from reprokit.core.provenance import OtherSeeds
from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import GoldenError
from reprokit.golden.candidate import GoldenCandidate, check_alike, check_run
from reprokit.golden.folder import Golden, load, locate
from reprokit.golden.replace_folders import replace_folders
from reprokit.layout import METRICS, PROVENANCE, TRACE
from reprokit.records.provenance_json import sealed
from reprokit.redaction import redact, redact_text
from reprokit.workspace import cannot_write, sha256_of

_TRACE_FIRST = 8
_TRACE_EVERY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCheck:
    """A required row that the runs did not pass: its name, FAILED or ERROR, and why."""

    id: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """What the person says who makes a golden.

    Attributes:
        reason: Why these numbers are right; of someone's log, who published it, and where.
        created_at: ISO 8601, UTC.
        allow_dirty: Take runs of changes that neither commit nor index has.
        allow_nonfinite: Take metrics with NaN or infinities.
        allow_failed: Take runs that failed required checks, and record which.
        allow_left_out: Leave seeds of a sweep out that are finished too, and record which.
    """

    reason: str
    created_at: str
    allow_dirty: bool = False
    allow_nonfinite: bool = False
    allow_failed: bool = False
    allow_left_out: bool = False

    def must_have_reason(self) -> None:
        """Raise `GoldenError` where no reason is given."""
        if not self.reason.strip():
            raise GoldenError("a golden needs a reason", fix="say why these numbers are right with --reason")

    def as_data(self) -> dict[str, Any]:
        """The keys of ``provenance.json`` that say who made it, and when."""
        return {"created_at": self.created_at, "reason": redact_text(self.reason.strip())}


def promote(
    golden_dir: Path,
    *,
    runs: Sequence[GoldenCandidate],
    promotion: Promotion,
    tolerances: Mapping[str, Any],
    failed: Sequence[FailedCheck] = (),
    limit_bytes: float = math.inf,
    confirm: Callable[[], Mapping[str, Any]] = dict,
) -> Golden:
    """Promote a run: write its golden, in place of the one before it.

    ``runs`` are at least two complete ones of one recipe, platform and seed, equal byte for byte;
    ``tolerances`` are the recipe's, as plain data. ``failed`` are the required rows that the runs failed.
    Files that are larger than ``limit_bytes`` together are compressed. ``confirm`` is called last of all and
    may still refuse; what it returns is added to the provenance.

    Raises:
        GoldenError: The runs cannot be promoted; nothing is written.
        WorkspaceError: The golden cannot be written; an earlier one stays.
    """
    promotion.must_have_reason()
    _check_fit(runs, allow_dirty=promotion.allow_dirty)
    first = runs[0]
    folder = locate(golden_dir, recipe=first.recipe, platform=first.platform, seed=first.seed, cpu=first.cpu)
    _check_equal(runs)
    for file in first.records:
        _check_records(file, allow_nonfinite=promotion.allow_nonfinite)
    if failed and not promotion.allow_failed:
        raise GoldenError(
            f"the runs failed required checks: {', '.join(row.id for row in failed)}",
            where=str(first.path),
            actual="; ".join(f"{row.id}: {row.reason}" for row in failed),
            fix="correct what they name and run again, or say --allow-failed, which records them",
        )
    previous = _digest_before(folder)
    provenance = {
        **provenance_of(first),
        **promotion.as_data(),
        "runs_agreed": len(runs),
        "tolerances": dict(tolerances),
        "previous": previous,
        "tool": {"name": "reprokit", "version": __version__},
        **({"responds": _responds(first.responds)} if first.responds else {}),
        **({"failed_checks": [_recorded(row) for row in failed]} if failed else {}),
        **confirm(),
    }
    try:
        _write(folder, first, provenance, limit_bytes=limit_bytes)
    except OSError as error:
        raise cannot_write(folder, error) from error
    except (TypeError, ValueError) as error:
        raise GoldenError(f"the provenance is not JSON: {error}", where=str(first.path)) from error
    return load(folder)


def _digest_before(folder: Path) -> str | None:
    """Digest of the metrics that a golden is to replace, as they are there; None where there are none."""
    try:
        return sha256_of_stored(folder / METRICS) if stored(folder / METRICS).is_file() else None
    except OSError:
        return None


def thinned(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The first 8 lines, every 8th, and the last, each as it is.

    >>> len(list(thinned([b"{}"] * 100)))
    21
    """
    left_out = None
    for index, line in enumerate(lines):
        kept = index < _TRACE_FIRST or index % _TRACE_EVERY == 0
        left_out = None if kept else line
        if kept:
            yield line
    if left_out is not None:
        yield left_out


def provenance_of(run: GoldenCandidate) -> dict[str, Any]:
    """What a golden says of a run and everything that its numbers stand on."""
    return {
        "schema": SCHEMA_VERSION,
        "recipe": run.recipe,
        "platform": run.platform,
        "seed": run.seed,
        "digests": {name: run.digests[name] for name in names_in(run.digests)},
        "image": dict(run.image),
        "fingerprint": run.fingerprint,
        "fingerprint_facts": dict(run.fingerprint_facts),
        "environment": dict(run.environment),
        "config": dict(run.config),
        **({"cpu": run.cpu} if run.cpu else {}),
        **({"command": list(run.command)} if run.command else {}),
        **({"program": dict(run.program), "sources": dict(run.sources)} if run.program else {}),
        **({"extensions": [one._asdict() for one in run.extensions]} if run.extensions else {}),
        **({} if run.outside_code is None else {"outside_code": dict(run.outside_code)}),
    }


def _responds(seen: OtherSeeds) -> dict[str, Any]:
    third = {} if seen.third_seed is None else {"third_seed": seen.third_seed}
    return {"seed": seen.seed, **third, "metrics": list(seen.metrics)}


def _recorded(row: FailedCheck) -> dict[str, str]:
    return {"id": row.id, "status": row.status, "reason": redact_text(row.reason)}


def _check_fit(runs: Sequence[GoldenCandidate], *, allow_dirty: bool) -> None:
    if len({run.path.resolve() for run in runs}) < 2:
        named = "one run" if len(runs) < 2 else f"one run, named {len(runs)} times"
        raise GoldenError("a golden needs two runs that agree", actual=named, fix="run the recipe again")
    for run in runs:
        check_run(run, allow_dirty=allow_dirty)


def _check_equal(runs: Sequence[GoldenCandidate]) -> None:
    first = runs[0]
    for other in runs[1:]:
        check_alike(first, other, shared=("recipe", "seed", "platform", "cpu", "digests", "fingerprint"))
        for mine, theirs in zip(first.records, other.records, strict=True):
            line = _first_difference(mine, theirs)
            if line is not None:
                fix = f"`reprokit diff {first.path} {other.path}` shows the difference"
                raise GoldenError("the runs differ", where=f"{theirs}:{line}", fix=fix)


def _first_difference(expected: Path, actual: Path) -> int | None:
    """The first line, counted from 1, in which two files differ."""
    try:
        with expected.open("rb") as left, actual.open("rb") as right:
            for number, (mine, theirs) in enumerate(itertools.zip_longest(left, right), start=1):
                if mine != theirs:
                    return number
    except OSError as error:
        raise GoldenError(f"cannot read: {error.strerror or error}", where=str(error.filename)) from error
    return None


def _check_records(file: Path, *, allow_nonfinite: bool) -> None:
    number, seen = 0, set[str]()
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            where = f"{file}:{number}"
            try:
                record = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise GoldenError("not a line of JSON", where=where) from error
            if not isinstance(record, dict) or not line.endswith(b"\n"):
                raise GoldenError("not a whole record", where=where)
            _check_secrets(record, seen, where=where)
            for name, value in record.items():
                if isinstance(value, float) and not math.isfinite(value) and not allow_nonfinite:
                    fix = "correct the training, or pass --allow-nonfinite if this is intended"
                    raise GoldenError(f"{name} is {value}", where=where, fix=fix)
    if not number:
        raise GoldenError("the file is empty", where=str(file))


def _check_secrets(record: Mapping[str, Any], seen: set[str], *, where: str) -> None:
    """A golden is published; its records are evidence, so a secret is refused, not taken out."""
    texts = {*record, *(value for value in record.values() if isinstance(value, str))} - seen
    said = {name: value for name, value in record.items() if isinstance(value, str | list | dict)}
    if any(redact_text(text) != text for text in texts) or redact(said) != said:
        fix = "name the metric without it, and run the recipe again"
        raise GoldenError("a record holds what looks like a secret", where=where, fix=fix)
    seen |= texts


def _write(folder: Path, run: GoldenCandidate, provenance: Mapping[str, Any], *, limit_bytes: float) -> None:
    """Write all files next to the golden's place, then put that folder there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        with run.metrics.open("rb") as stream:
            write_lines(fresh / METRICS, stream)
        digests = {**provenance["digests"], "metrics": sha256_of(fresh / METRICS)}
        if run.trace is not None:
            with run.trace.open("rb") as stream:
                write_lines(fresh / TRACE, thinned(stream))
            digests["trace"] = sha256_of(fresh / TRACE)
        told = {**provenance, "digests": digests, **_compressed(fresh, limit_bytes=limit_bytes)}
        write_provenance(fresh, told)
        fresh.chmod(0o755)
        replace_folders([(fresh, folder)])
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _compressed(folder: Path, *, limit_bytes: float) -> dict[str, Any]:
    """Compress the files of a golden that is too large for git; returns their plain ``sizes``."""
    files = {"metrics": folder / METRICS, "trace": folder / TRACE}
    sizes = {what: file.stat().st_size for what, file in files.items() if file.is_file()}
    if sum(sizes.values()) <= limit_bytes:
        return {}
    for what, size in sizes.items():
        if size > MOST_BYTES:
            most = f"at most {MOST_BYTES:,} bytes"
            raise GoldenError(f"the {what} are too large for a golden", expected=most, actual=f"{size:,}")
        compress(files[what])
    return {"sizes": sizes}


def write_provenance(folder: Path, provenance: Mapping[str, Any]) -> None:
    """Write ``provenance.json`` with a digest of itself, through to the disk."""
    as_read = json.loads(_as_bytes(provenance))
    write_lines(folder / PROVENANCE, [_as_bytes(sealed(as_read))])


def _as_bytes(provenance: Mapping[str, Any]) -> bytes:
    text = json.dumps(provenance, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode("utf-8", errors="backslashreplace")


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write lines, through to the disk."""
    with path.open("wb") as stream:
        stream.writelines(lines)
        stream.flush()
        os.fsync(stream.fileno())
