"""A golden's folder: where it is, and reading it back so that a changed file is noticed.

The commit of a golden is the one that last touched its folder, so none is stored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.compressed import MOST_BYTES, SUFFIX, sha256_of_stored, stored
from reprokit.core import fingerprint
from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.provenance import Provenance
from reprokit.errors import GoldenError, UsageError
from reprokit.layout import ENSEMBLE, METRICS, PROVENANCE, TRACE
from reprokit.records import provenance_json
from reprokit.records.provenance_json import RESTORE

#: What begins the folder of goldens that hold on one kind of CPU alone, below that of their platform.
OF_CPU = "on-"
_LISTED = 6
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """A golden whose files are the ones that were promoted."""

    path: Path  # its folder
    provenance: Provenance  # `provenance.json`
    document: Mapping[str, Any]  # the same as it stands there
    # The promoted `metrics.jsonl`, whole; `compressed.open_stored` opens it, compressed or not
    metrics: Path
    # The promoted `trace.jsonl`, thinned, its records exact; None for an unmodified program not watched
    trace: Path | None

    @property
    def is_foreign(self) -> bool:
        """Whether it is a log that someone published, not a run of one's own."""
        return self.provenance.foreign is not None

    @property
    def seed(self) -> int:
        """Its seed, which ``load`` has seen to be there."""
        return self.provenance.seed or 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRow:
    """One line of a list of goldens."""

    recipe: str  # as the folder says
    platform: str  # as the folder says
    seed: int | None  # as the folder says, or None when it says none
    path: Path  # the golden's folder
    created_at: str = ""  # ISO 8601, UTC, or ""
    reason: str = ""  # why it was promoted, or ""
    command: bool = False  # whether it is of a plain command, which has no recipe
    runs_agreed: int = 0  # how many runs agreed when it was promoted, or 0
    foreign: bool = False  # whether it is a log that someone published
    num_seeds: int = 0  # of an ensemble, how many it holds; 0 of any other golden
    problem: str = ""  # why it cannot be used, or ""


def locate(golden_dir: Path, *, recipe: str, platform: str, seed: int, cpu: str = "") -> Path:
    """Where a golden is, or would be; with ``cpu``, that of one kind of CPU alone.

    Raises:
        GoldenError: One of the names cannot be that of a folder.
    """
    above = folder_of_platform(golden_dir, recipe=recipe, platform=platform)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise GoldenError(f"{seed!r} cannot be a seed", expected="a whole number, 0 or more")
    if cpu and not _NAME.fullmatch(cpu):
        raise GoldenError(f"{cpu!r} cannot be a kind of CPU", expected="letters, digits, dots, - and _")
    return (above / f"{OF_CPU}{cpu}" if cpu else above) / f"seed-{seed}"


def locate_for(golden_dir: Path, *, recipe: str, environment: EnvironmentRecord, seed: int) -> Path:
    """Where the golden is that a run is compared with: that of its kind of CPU, else that of its platform.

    Args:
        golden_dir: The folder of goldens.
        recipe: Its recipe.
        environment: Its environment record.
        seed: Its seed.

    Raises:
        GoldenError: One of the names cannot be that of a folder.
    """
    platform, cpu = fingerprint.platform_of(environment), fingerprint.cpu_that_counts(environment)
    own = locate(golden_dir, recipe=recipe, platform=platform, seed=seed, cpu=cpu)
    return own if own.is_dir() else locate(golden_dir, recipe=recipe, platform=platform, seed=seed)


def folder_of_platform(golden_dir: Path, *, recipe: str, platform: str) -> Path:
    """Where the goldens of a recipe on a platform are, or would be.

    Raises:
        GoldenError: One of the names cannot be that of a folder.
    """
    for what, name in (("recipe", recipe), ("platform", platform)):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise GoldenError(f"{name!r} cannot be a {what}", expected="letters, digits, dots, - and _")
    return golden_dir / recipe / platform


def load(path: Path) -> Golden:
    """Read a golden back.

    Raises:
        GoldenError: Something is missing, malformed, or not what was promoted.
    """
    if not path.is_dir():
        raise GoldenError(
            "there is no golden", where=str(path), fix="`reprokit golden list` shows what there is"
        )
    try:
        provenance, document = provenance_json.read_golden(path / PROVENANCE)
        of_cpu = [f"{OF_CPU}{provenance.cpu}"] if provenance.cpu else []
        names = (provenance.recipe, provenance.platform, *of_cpu, f"seed-{provenance.seed}")
        if path.absolute().parts[-len(names) :] != names:
            actual = f"one of {'/'.join(names)}"
            raise GoldenError(
                "this golden belongs to another folder", where=str(path), actual=actual, fix=RESTORE
            )
        for name, what in ((METRICS, "metrics"), (TRACE, "trace")):
            if digest := provenance.digests.get(what):
                size = (provenance.sizes or {}).get(what, MOST_BYTES)
                _must_be_promoted(path / name, digest, most_bytes=size)
    except OSError as error:
        where = str(error.filename or path)
        raise GoldenError(f"cannot read: {error.strerror or error}", where=where, fix=RESTORE) from error
    trace = path / TRACE if "trace" in provenance.digests else None
    return Golden(path=path, provenance=provenance, document=document, metrics=path / METRICS, trace=trace)


def list_all(golden_dir: Path) -> list[GoldenRow]:
    """Every golden in a folder, by recipe, platform and seed; those that are broken say how."""
    rows = (
        _row(path) for path in (*golden_dir.glob("*/*/seed-*"), *golden_dir.glob(f"*/*/{OF_CPU}*/seed-*"))
    )
    return sorted(rows, key=lambda row: (row.recipe, row.platform, row.seed is None, row.seed or 0, row.path))


def find(path: Path, *, ensembles: bool = False) -> Path:
    """The golden that a folder is, or the only one below it; an ensemble too where these are looked for.

    Raises:
        UsageError: There are several.
    """
    names = ("seed-*", *((ENSEMBLE,) if ensembles else ()))
    below = sorted(file.parent for name in names for file in path.glob(f"**/{name}/{PROVENANCE}"))
    if (path / PROVENANCE).exists() or not below:
        return path
    if len(below) == 1:
        return below[0]
    named = ", ".join(map(str, below[:_LISTED]))
    more = f" and {len(below) - _LISTED} more" if len(below) > _LISTED else ""
    raise UsageError("there is more than one golden here", where=str(path), fix=f"name one of {named}{more}")


def _row(path: Path) -> GoldenRow:
    number = path.name.removeprefix("seed-")
    seed = int(number) if re.fullmatch(r"[0-9]{1,18}", number) else None
    recipe, platform = path.parent.parent.name, path.parent.name
    if platform.startswith(OF_CPU):
        recipe, platform = path.parents[2].name, f"{recipe}/{platform}"
    try:
        provenance = load(path).provenance
    except GoldenError as error:
        return GoldenRow(recipe=recipe, platform=platform, seed=seed, path=path, problem=str(error))
    return GoldenRow(
        recipe=recipe,
        platform=platform,
        seed=seed,
        path=path,
        created_at=provenance.created_at,
        reason=provenance.reason,
        runs_agreed=provenance.runs_agreed,
        foreign=provenance.foreign is not None,
        command=bool(provenance.command),
    )


def _must_be_promoted(file: Path, digest: str, *, most_bytes: int) -> None:
    kept = stored(file)
    if kept.is_symlink() or not kept.is_file():
        raise GoldenError("the file is missing", where=str(file), fix=RESTORE)
    twin = file.with_name(file.name + SUFFIX)
    if kept == file and os.path.lexists(twin):
        raise GoldenError("the file is there twice, compressed and plain", where=str(twin), fix=RESTORE)
    actual = sha256_of_stored(file, most_bytes=most_bytes)
    if actual != digest:
        raise GoldenError(
            "the file differs from the one that was promoted",
            where=str(file),
            expected=digest,
            actual=actual,
            fix=RESTORE,
        )
