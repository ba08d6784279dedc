"""From someone's published log to a foreign golden of a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import reprokit
from reprokit import adapters, capture, golden, recipes, workspace
from reprokit.core import fingerprint
from reprokit.core.tolerance import Tolerance
from reprokit.errors import UsageError
from reprokit.project import Project


def import_log(
    log: Path,
    *,
    recipe: str,
    project: Project,
    seed: int | None,
    platform: str | None,
    tolerance: Tolerance,
    metrics: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
    reason: str,
    now: str,
) -> golden.Golden:
    """Make a foreign golden.

    Args:
        log: A file of a known format, or a folder with one log in it.
        recipe: Name of the recipe whose runs are to be compared with it.
        project: The folders.
        seed: One of the recipe's; its only one when None.
        platform: One of the recipe's; this machine's when None.
        tolerance: How far each number may be off.
        metrics: Names of the log to keep; all numbers when empty.
        renamed: Name in the log → what the recipe's runs call it.
        reason: Who published it, and where.
        now: ISO 8601 in UTC.

    Raises:
        UsageError: The recipe has no such seed or platform.
        MetricsError: The log cannot be read whole.
        GoldenError: There is a golden already.
    """
    known = recipes.load(recipe, recipes_dir=project.recipes_dir)
    platform = platform or fingerprint.platform_of(capture.capture_host(project.root))
    if platform not in known.platforms:
        raise UsageError(
            f"the recipe does not declare the platform {platform}",
            where=recipe,
            expected=" or ".join(known.platforms),
            fix="name one of its platforms with --platform",
        )
    if seed is None and len(known.seeds) == 1:
        seed = known.seeds[0]
    if seed not in known.seeds or seed is None:
        raise UsageError(
            "one of the recipe's seeds is wanted, whose runs are compared with the log",
            where=recipe,
            expected=" or ".join(map(str, known.seeds)),
            actual=str(seed) if seed is not None else "none",
            fix="name it with --seed",
        )
    read = adapters.read_foreign(log, metrics=metrics, renamed=renamed or {})
    source = {
        "name": read.path.name,
        "format": read.form,
        "sha256": workspace.sha256_of(read.path) if read.path.is_file() else None,
        "metrics": list(read.metrics),
    }
    return golden.write_foreign(
        project.golden_dir,
        golden.ForeignNumbers(
            recipe=known.name, platform=platform, seed=seed, records=read.records, source=source
        ),
        tolerance=tolerance,
        reason=reason,
        created_at=now,
        tool_version=reprokit.__version__,
    )
