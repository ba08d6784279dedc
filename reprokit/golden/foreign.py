"""A golden made of a log that someone published, which runs are compared with within declared tolerances.

It says where the log came from, its digest and how far a run may be from it. It has no fingerprint, no
digests of inputs and no run behind it, so nothing that differs from it is called a regression.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import __version__
from reprokit.core.provenance import ForeignSource
from reprokit.core.records import SCHEMA_VERSION
from reprokit.core.tolerance import Tolerance
from reprokit.errors import GoldenError
from reprokit.golden.folder import Golden, load, locate
from reprokit.golden.promotion import Promotion
from reprokit.layout import METRICS, PROVENANCE
from reprokit.workspace import cannot_write, sha256_of, write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignNumbers:
    """What is to be a foreign golden.

    Attributes:
        records: Lines of ``metrics.jsonl``.
        source: The published file.
    """

    recipe: str
    platform: str
    seed: int
    records: Sequence[bytes]
    source: ForeignSource


def write_foreign(
    golden_dir: Path,
    numbers: ForeignNumbers,
    *,
    tolerance: Tolerance,
    promotion: Promotion,
) -> Golden:
    """Write a foreign golden.

    Args:
        golden_dir: The folder of goldens.
        numbers: What it holds.
        tolerance: How far each number of a run may be from it.
        promotion: Who published the log and where, and when it was taken.

    Raises:
        GoldenError: There is a golden already, or no reason; nothing is written.
        WorkspaceError: It cannot be written.
    """
    if not promotion.reason.strip():
        raise GoldenError("a foreign golden needs a reason", fix="say who published the log with --reason")
    folder = locate(golden_dir, recipe=numbers.recipe, platform=numbers.platform, seed=numbers.seed)
    if folder.exists() or folder.is_symlink():
        fix = "remove it first; the numbers of a run of your own say more than someone's log"
        raise GoldenError("there is a golden of this recipe, platform and seed", where=str(folder), fix=fix)
    provenance = {
        "schema": SCHEMA_VERSION,
        "recipe": numbers.recipe,
        "platform": numbers.platform,
        "seed": numbers.seed,
        "foreign": numbers.source._asdict(),
        "image": {},
        "fingerprint": "",
        "fingerprint_facts": {},
        "environment": {},
        "config": {},
        **promotion.as_data(),
        "runs_agreed": 0,
        "tolerances": {"default": {"rtol": tolerance.rtol, "atol": tolerance.atol}},
        "previous": None,
        "tool": {"name": "reprokit", "version": __version__},
    }
    try:
        _write(folder, numbers.records, provenance)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return load(folder)


def _write(folder: Path, records: Sequence[bytes], provenance: Mapping[str, Any]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        write_atomic(fresh / METRICS, b"".join(line + b"\n" for line in records))
        digests = {"metrics": sha256_of(fresh / METRICS)}
        text = json.dumps({**provenance, "digests": digests}, indent=2, ensure_ascii=False, allow_nan=False)
        write_atomic(fresh / PROVENANCE, f"{text}\n".encode("utf-8", errors="backslashreplace"))
        fresh.chmod(0o755)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
