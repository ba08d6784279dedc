"""An ensemble: the golden of many seeds, ``golden/<recipe>/<platform>/ensemble/``, read back and listed.

``ensemble.jsonl`` has a line a seed: its windowed values, and the digest of its run's metrics.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.core.evidence import is_integer
from reprokit.core.provenance import BlessedMetric, Provenance
from reprokit.errors import GoldenError
from reprokit.golden.folder import GoldenRow, folder_of_platform
from reprokit.layout import ENSEMBLE, ENSEMBLE_LINES, PROVENANCE
from reprokit.records import provenance_json
from reprokit.records.provenance_json import RESTORE, is_digest
from reprokit.regular_file import read_regular
from reprokit.workspace import sha256_of

_MAX_BYTES = 16_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleMember:
    """One seed: its number for each declared metric, and the digest of its run's ``metrics.jsonl``."""

    seed: int
    values: Mapping[str, float]
    metrics: str

    def as_line(self) -> bytes:
        """The line of ``ensemble.jsonl``; floats are written so that they are read back to the last bit."""
        data = {"seed": self.seed, "values": dict(self.values), "metrics": self.metrics}
        return json.dumps(data, allow_nan=False).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble:
    """An ensemble whose file is the one that was promoted; ``members`` by their seeds."""

    path: Path
    provenance: Provenance  # `provenance.json`
    document: Mapping[str, Any]  # the same as it stands there
    members: tuple[EnsembleMember, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(member.seed for member in self.members)

    @property
    def labels(self) -> tuple[str, ...]:
        """What each declared metric's values are filed under."""
        return labels_of(self.provenance.statistical)


def labels_of(statistical: Sequence[BlessedMetric]) -> tuple[str, ...]:
    """What the values of each declared metric are filed under: its name, and the window where that matters.

    >>> labels_of([BlessedMetric("return", "last", 1.0, "higher")])
    ('return',)
    """
    names = [one.metric for one in statistical]
    return tuple(
        name
        if names.count(name) == 1 and not one.window.startswith("first_step")
        else f"{name} ({one.window})"
        for name, one in zip(names, statistical, strict=True)
    )


def locate_ensemble(golden_dir: Path, *, recipe: str, platform: str) -> Path:
    """Where an ensemble is, or would be.

    Raises:
        GoldenError: One of the names cannot be that of a folder.
    """
    return folder_of_platform(golden_dir, recipe=recipe, platform=platform) / ENSEMBLE


def load_ensemble(path: Path) -> Ensemble:
    """Read an ensemble back.

    Raises:
        GoldenError: Something is missing, malformed, or not what was promoted.
    """
    file = path / ENSEMBLE_LINES
    try:
        provenance, document = provenance_json.read_ensemble(path / PROVENANCE)
        names = (provenance.recipe, provenance.platform, ENSEMBLE)
        if path.absolute().parts[-3:] != names:
            actual = f"one of {'/'.join(names)}"
            raise GoldenError(
                "this ensemble belongs to another folder", where=str(path), actual=actual, fix=RESTORE
            )
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_BYTES:
            raise GoldenError("the file is missing or too large", where=str(file), fix=RESTORE)
        actual, expected = sha256_of(file), provenance.digests["ensemble"]
        if actual != expected:
            what = "the file differs from the one that was promoted"
            raise GoldenError(what, where=str(file), expected=expected, actual=actual, fix=RESTORE)
        members = _members(file, labels=labels_of(provenance.statistical))
    except OSError as error:
        where = str(error.filename or path)
        raise GoldenError(f"cannot read: {error.strerror or error}", where=where, fix=RESTORE) from error
    if tuple(member.seed for member in members) != provenance.seeds:
        raise GoldenError("the seeds are not those of provenance.json", where=str(file), fix=RESTORE)
    return Ensemble(path=path, provenance=provenance, document=document, members=members)


def list_ensembles(golden_dir: Path) -> list[GoldenRow]:
    """Every ensemble in a folder of goldens, by recipe and platform; those that are broken say how."""
    rows = (_row(path) for path in golden_dir.glob(f"*/*/{ENSEMBLE}"))
    return sorted(rows, key=lambda row: (row.recipe, row.platform))


def _row(path: Path) -> GoldenRow:
    recipe, platform = path.parent.parent.name, path.parent.name
    try:
        found = load_ensemble(path)
    except GoldenError as error:
        return GoldenRow(recipe=recipe, platform=platform, seed=None, path=path, problem=str(error))
    return GoldenRow(
        recipe=recipe,
        platform=platform,
        seed=None,
        path=path,
        created_at=found.provenance.created_at,
        reason=found.provenance.reason,
        num_seeds=len(found.members),
    )


def _members(file: Path, *, labels: Sequence[str]) -> tuple[EnsembleMember, ...]:
    found: dict[int, EnsembleMember] = {}
    digests: set[str] = set()
    for number, line in enumerate(read_regular(file).splitlines(), start=1):
        member = _member(line, labels=labels)
        if member is None:
            raise GoldenError("not a member of this ensemble", where=f"{file}:{number}", fix=RESTORE)
        if member.seed in found or member.metrics in digests:
            raise GoldenError("a seed or run is there twice", where=f"{file}:{number}", fix=RESTORE)
        found[member.seed] = member
        digests.add(member.metrics)
    if len(found) < 2:
        raise GoldenError("an ensemble has two seeds or more", where=str(file), fix=RESTORE)
    return tuple(member for _, member in sorted(found.items()))


def _member(line: bytes, *, labels: Sequence[str]) -> EnsembleMember | None:
    try:
        data = json.loads(line)
        seed, values, metrics = data["seed"], data["values"], data["metrics"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    if not is_integer(seed) or not is_digest(metrics) or not isinstance(values, dict):
        return None
    whole = list(values) == list(labels) and all(
        isinstance(value, float) and math.isfinite(value) for value in values.values()
    )
    return EnsembleMember(seed=seed, values=values, metrics=metrics) if whole else None
