"""What searches for a change of the numbers share: where two runs differ, and metrics kept for later."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from reprokit import adapters, capture, recipes, workspace
from reprokit.core import fingerprint
from reprokit.core.comparison import Divergence
from reprokit.layout import METRICS, read_json
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request

CACHE = ".bisect"
_FACTS = "metrics.json"


def platforms_of(request: Request, project: Project) -> tuple[str, ...]:
    """That whose settings were asked for, else all of this host: whose tolerances count."""
    asked = recipes.platform_asked(request.overrides)
    return (asked,) if asked else fingerprint.platforms_of_host(capture.capture_host(project.root))


def difference(reference: Path, metrics: Path, *, recipe: Recipe, platforms: tuple[str, ...]) -> str:
    """Where metrics are not those of the reference, within the tolerances of a recipe; "" where they are.

    Raises:
        MetricsError: They cannot be compared.
    """
    here = next((platform for platform in platforms if platform in recipe.platforms), "")
    found = adapters.compare(reference, metrics, tolerances=recipe.tolerances_on(here))
    return "" if found.within_tolerance else _where(found.divergence)


def _where(first: Divergence | None) -> str:
    return f"differs at {first.place}, {first.metric or 'the record'}" if first else "differs"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMetrics:
    """The metrics of an earlier run, by the digest of what it stood on.

    Attributes:
        folder: Where they are, or will be.
    """

    folder: Path

    @property
    def found(self) -> Path | None:
        """The metrics; None where there are none, or other ones."""
        metrics = self.folder / METRICS
        known = metrics.is_file() and read_json(self.folder / _FACTS).get("sha256") == workspace.sha256_of(
            metrics
        )
        return metrics if known else None

    @property
    def num_runs(self) -> int:
        """How many runs had these."""
        return int(read_json(self.folder / _FACTS).get("runs") or 0)

    def keep(self, metrics: Path, *, runs: int = 1) -> Path:
        """Keep these, of so many runs; where they are now."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(metrics, self.folder / METRICS)
            facts = {"sha256": workspace.sha256_of(metrics), "runs": runs}
            workspace.write_json(self.folder / _FACTS, facts)
        except OSError as error:
            raise workspace.cannot_write(self.folder, error) from error
        return self.folder / METRICS

    def drop(self) -> None:
        """Forget them."""
        shutil.rmtree(self.folder, ignore_errors=True)
