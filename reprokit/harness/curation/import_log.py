"""From someone's published log to a foreign golden of a recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reprokit import adapters, capture, golden, recipes, workspace
from reprokit.core import fingerprint
from reprokit.core.provenance import ForeignSource
from reprokit.core.tolerance import Tolerance
from reprokit.errors import UsageError
from reprokit.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedLog:
    """A log that someone published.

    Attributes:
        path: A file of a known format, or a folder with one log in it.
        metrics: Names of it to keep; all numbers when empty.
        renamed: Name in the log → what the recipe's runs call it.
    """

    path: Path
    metrics: Sequence[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


def import_log(
    log: PublishedLog,
    *,
    recipe: str,
    project: Project,
    seed: int | None,
    platform: str | None,
    tolerance: Tolerance,
    promotion: golden.Promotion,
) -> golden.Golden:
    """Make a foreign golden.

    Args:
        log: What was published.
        recipe: Name of the recipe whose runs are to be compared with it.
        project: The folders.
        seed: One of the recipe's; its only one when None.
        platform: One of the recipe's; this machine's when None.
        tolerance: How far each number may be off.
        promotion: Who published it and where, and when it is taken.

    Raises:
        UsageError: The recipe has no such seed or platform.
        MetricsError: The log cannot be read whole.
        GoldenError: There is a golden already.
    """
    known = recipes.load(recipe, recipes_dir=project.recipes_dir)
    platform = platform or fingerprint.platform_of_host(capture.capture_host(project.root))
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
            "the log is compared with runs of one of the recipe's seeds: say which",
            where=recipe,
            expected=" or ".join(map(str, known.seeds)),
            actual=str(seed) if seed is not None else "none",
            fix="name it with --seed",
        )
    read = adapters.read_foreign(log.path, metrics=log.metrics, renamed=log.renamed)
    source = ForeignSource(
        name=read.path.name,
        format=read.form,
        sha256=workspace.sha256_of(read.path) if read.path.is_file() else None,
        metrics=tuple(read.metrics),
    )
    return golden.write_foreign(
        project.golden_dir,
        golden.ForeignNumbers(
            recipe=known.name, platform=platform, seed=seed, records=read.records, source=source
        ),
        tolerance=tolerance,
        promotion=promotion,
    )
