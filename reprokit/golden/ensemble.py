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

from reprokit.core import inputs
from reprokit.core.evidence import is_integer
from reprokit.core.records import digest
from reprokit.errors import GoldenError
from reprokit.golden.folder import RESTORE, GoldenRow, folder_of_platform, is_digest, misfit, read_provenance
from reprokit.layout import ENSEMBLE, ENSEMBLE_LINES, PROVENANCE
from reprokit.regular_file import read_regular
from reprokit.workspace import sha256_of

_MAX_BYTES = 16_000_000
_TYPES: Mapping[str, tuple[type, ...]] = {
    "schema": (int,),
    "recipe": (str,),
    "platform": (str,),
    "created_at": (str,),
    "reason": (str,),
    "digests": (dict,),
    "image": (dict,),
    "fingerprint": (str,),
    "fingerprint_facts": (dict,),
    "environment": (dict,),
    "config": (dict,),
    "seeds": (list,),
    "statistical": (list,),
    "halves": (list,),
    "previous": (str, type(None)),
    "tool": (dict,),
}
_STATISTICAL = {"metric": str, "window": str, "margin": float, "direction": str}


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
    provenance: Mapping[str, Any]
    members: tuple[EnsembleMember, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(member.seed for member in self.members)

    @property
    def left_out(self) -> tuple[int, ...]:
        """Seeds that were finished when it was promoted, and are no members; no one looked for older ones."""
        return tuple(self.provenance.get("left_out", ()))

    @property
    def logs(self) -> Mapping[str, Any] | None:
        """The shape of its seeds' logs, as ``core.log_shape`` has it; None of one of before that was kept."""
        found: Mapping[str, Any] | None = self.provenance.get("logs")
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """What each declared metric's values are filed under."""
        return labels_of(self.provenance["statistical"])


def judged_digest(
    statistical: Sequence[Mapping[str, Any]],
    left_out: Sequence[int] = (),
    logs: Mapping[str, Any] | None = None,
) -> str:
    """Digest of what is judged: metric, window, margin and direction of each entry; seeds left out; logs."""
    entries = [{name: one.get(name) for name in _STATISTICAL} for one in statistical]
    entries += [{"left_out": list(left_out)}] if left_out else []
    return digest([*entries, {"logs": dict(logs)}] if logs else entries)


def labels_of(statistical: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What the values of each declared metric are filed under: its name, and the window where that matters.

    >>> labels_of([{"metric": "return", "window": "last"}])
    ('return',)
    """
    names = [str(one["metric"]) for one in statistical]
    return tuple(
        name
        if names.count(name) == 1 and not str(one["window"]).startswith("first_step")
        else f"{name} ({one['window']})"
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
        provenance = read_provenance(path / PROVENANCE, problem_of=_problem_of)
        names = (provenance["recipe"], provenance["platform"], ENSEMBLE)
        if path.absolute().parts[-3:] != names:
            actual = f"one of {'/'.join(names)}"
            raise GoldenError(
                "this ensemble belongs to another folder", where=str(path), actual=actual, fix=RESTORE
            )
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_BYTES:
            raise GoldenError("the file is missing or too large", where=str(file), fix=RESTORE)
        actual, expected = sha256_of(file), provenance["digests"]["ensemble"]
        if actual != expected:
            what = "the file differs from the one that was promoted"
            raise GoldenError(what, where=str(file), expected=expected, actual=actual, fix=RESTORE)
        members = _members(file, labels=labels_of(provenance["statistical"]))
    except OSError as error:
        where = str(error.filename or path)
        raise GoldenError(f"cannot read: {error.strerror or error}", where=where, fix=RESTORE) from error
    if [member.seed for member in members] != provenance["seeds"]:
        raise GoldenError("the seeds are not those of provenance.json", where=str(file), fix=RESTORE)
    return Ensemble(path=path, provenance=provenance, members=members)


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
        created_at=found.provenance["created_at"],
        reason=found.provenance["reason"],
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


def _problem_of(value: Any) -> str:
    if problem := misfit(value, _TYPES):
        return problem
    digests = value["digests"]
    for name in (*inputs.names_in(digests), "ensemble"):
        if not is_digest(digests.get(name)):
            return f"the digest of {name!r} is missing or malformed"
    entries = value["statistical"]
    if not entries or not all(_is_statistical(entry) for entry in entries):
        return "'statistical' is malformed"
    left_out, is_list = value.get("left_out", []), isinstance(value.get("left_out", []), list)
    for name, is_whole in (
        ("left_out", is_list and all(map(is_integer, left_out))),
        ("logs", "logs" not in value or _is_shape(value["logs"])),
    ):
        if not is_whole:
            return f"{name!r} is malformed"
    if digests.get("statistical") != judged_digest(entries, left_out, value.get("logs")):
        return "'statistical' is not what was promoted: its digest is another one"
    return ""


def _is_shape(logs: Any) -> bool:
    if not isinstance(logs, dict) or set(logs) != {"records", "always", "sometimes", "not_finite"}:
        return False
    names = [logs[key] for key in ("always", "sometimes", "not_finite")]
    texts = all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in names)
    records = logs["records"]
    return texts and isinstance(records, list) and len(records) == 2 and all(map(is_integer, records))


def _is_statistical(entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != set(_STATISTICAL):
        return False
    typed = all(isinstance(entry[name], kind) for name, kind in _STATISTICAL.items())
    return typed and entry["direction"] in {"higher", "lower"} and 0 < entry["margin"] < math.inf
