"""Files that a step made of other files: what the step stands on, what came out, and whether it repeats.

A record lies in ``<cache>/prepared/<key>.json``. The key is the digest of all that the files can depend on:
the code of the step, its inputs, its settings, its seed, its environment. The files lie in the cache like
fetched ones, under their own digests.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reprokit import file_tree, workspace
from reprokit.core.records import SCHEMA_VERSION, digest
from reprokit.data.partial_file import cache_unwritable
from reprokit.errors import DataError

PREPARED = "prepared"
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StepInputs:
    """All that a step's files can depend on.

    Attributes:
        step: Its name in the recipe.
        runs: ``script`` or ``module:function``.
        code: Name → digest of every file that it can import.
        inputs: Name → digest of every file that it reads.
        settings: As declared.
        seed: Of Python's and NumPy's generators; an argument of the code, too.
        environment: ``variant``, ``lock`` and ``numerics``.
    """

    step: str
    runs: str
    code: Mapping[str, str]
    inputs: Mapping[str, str]
    settings: Mapping[str, Any]
    seed: int
    environment: Mapping[str, Any]

    @property
    def key(self) -> str:
        return digest(asdict(self)).removeprefix("sha256:")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedData:
    """What came of a step.

    Attributes:
        outputs: Name → ``sha256`` and ``bytes``, of the first preparation.
        preparations: How many there were: 1, or 2.
        differing: What the second made otherwise, in words; "" where nothing.
        backend: ``docker`` or ``local``.
    """

    inputs: StepInputs
    outputs: Mapping[str, Mapping[str, Any]]
    preparations: int
    differing: str
    backend: str

    @property
    def is_repeated(self) -> bool:
        """Whether two preparations were equal to the byte."""
        return self.preparations >= 2 and not self.differing

    def as_data(self) -> dict[str, Any]:
        """As it is recorded."""
        return {"schema": SCHEMA_VERSION, "key": self.inputs.key, **asdict(self)}


def record_of(inputs: StepInputs, *, cache: Path) -> PreparedData | None:
    """What was recorded when a step ran on exactly this; None where it did not, or no one can read it."""
    try:
        said = json.loads((cache / PREPARED / f"{inputs.key}.json").read_bytes())
        found = PreparedData(
            inputs=inputs,
            outputs={str(name): dict(one) for name, one in said["outputs"].items()},
            preparations=int(said["preparations"]),
            differing=str(said["differing"]),
            backend=str(said["backend"]),
        )
        return found if said["key"] == inputs.key else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_record(prepared: PreparedData, *, cache: Path) -> None:
    """Record what came of a step, whole or not at all.

    Raises:
        WorkspaceError: The cache cannot be written, or the disk is full.
    """
    workspace.write_json(cache / PREPARED / f"{prepared.inputs.key}.json", prepared.as_data())


def made_files(folder: Path, expected: Sequence[str], *, where: str) -> dict[str, dict[str, Any]]:
    """Digest and size of each file that a step left.

    Raises:
        DataError: It left other files than the declared ones, or something that is no plain file.
    """
    found = {entry.name: entry.kind for entry in file_tree.walk(folder)}
    odd = sorted(name for name, kind in found.items() if kind is not file_tree.Kind.FILE)
    if odd:
        raise DataError(f"the step left something that is not a plain file: {odd[0]!r}", where=where)
    if set(found) != set(expected):
        raise DataError(
            "the files that the step left are not those that the recipe declares for it",
            where=where,
            expected=", ".join(sorted(expected)),
            actual=", ".join(sorted(found)) or "none",
            fix="write each file into the output folder, and declare each under `data` with `prepared:`",
        )
    return {
        name: {"sha256": workspace.sha256_of(folder / name), "bytes": (folder / name).stat().st_size}
        for name in sorted(found)
    }


def first_difference(first: Path, second: Path, names: Sequence[str]) -> str:
    """Where two preparations differ first, in words; "" where they are equal to the byte."""
    for name in sorted(names):
        offset = 0
        with (first / name).open("rb") as left, (second / name).open("rb") as right:
            while True:
                ours, theirs = left.read(_BLOCK_BYTES), right.read(_BLOCK_BYTES)
                if ours != theirs:
                    pairs = zip(ours, theirs, strict=False)
                    at = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))
                    return f"{name} differs from byte {offset + at:,} on"
                if not ours:
                    break
                offset += len(ours)
    return ""


def keep(file: Path, sha256: str, *, cache: Path) -> None:
    """Put a copy of a file into the cache, under its digest; a copy that is there and right is left.

    Raises:
        DataError: The file is not what it was when it was digested.
        WorkspaceError: The cache cannot be written, or the disk is full.
    """
    final = cache / "data" / sha256.removeprefix("sha256:")
    partial = final.with_name(f".{final.name}.prepared")
    try:
        if final.is_file() and not final.is_symlink() and workspace.sha256_of(final) == sha256:
            return
        final.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        with file.open("rb") as source, partial.open("xb") as target:
            shutil.copyfileobj(source, target, _BLOCK_BYTES)
            target.flush()
            os.fsync(target.fileno())
        with partial.open("rb") as stream:
            actual = f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
        if actual != sha256:
            raise DataError("a prepared file changed while it was copied", where=str(file))
        partial.chmod(0o444)
        partial.replace(final)
    except OSError as error:
        raise cache_unwritable(final, error) from error
    finally:
        with suppress(OSError):
            partial.unlink()
