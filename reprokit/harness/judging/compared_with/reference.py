"""What runs are compared with: a golden, or a finished run in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reprokit import adapters, golden, recipes, runs
from reprokit.compressed import stored
from reprokit.core import fingerprint
from reprokit.core.comparison import Tolerances
from reprokit.core.environment_record import EnvironmentRecord, sections
from reprokit.core.evidence import ReferenceRun
from reprokit.core.provenance import Provenance
from reprokit.errors import GoldenError, MetricsError, UsageError
from reprokit.layout import METRICS, TRACE
from reprokit.recipes import Recipe
from reprokit.records import environment_json

_SECTIONS = ("schema", "inside", "host", "image")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """What runs are compared with.

    Attributes:
        noun: How a sentence calls it.
        provenance: Of a run: recipe, platform, seed and fingerprint.
        environment: The sections of its environment record that are compared.
        digests: Input → digest, as in ``run.json``.
        tolerances: How far a run may be from it.
        num_records: Records of its metrics; 0 where they cannot be read.
        thinned: Whether its trace holds only some updates.
        is_foreign: Whether it is a log that someone published.
    """

    noun: str
    path: Path
    provenance: Provenance
    environment: EnvironmentRecord
    digests: Mapping[str, str]
    tolerances: Tolerances
    num_records: int
    thinned: bool
    run: ReferenceRun | None = None
    is_foreign: bool = False

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    @property
    def trace(self) -> Path | None:
        if self.is_foreign:
            return None
        path = self.path / TRACE
        of_command = "program" in self.digests
        return path if (self.thinned and not of_command) or stored(path).is_file() else None

    @property
    def platform(self) -> str:
        return self.provenance.platform


def golden_reference(blessed: golden.Golden, recipe: Recipe) -> Reference:
    """A golden, with tolerances that are never wider than those that it was blessed with.

    Raises:
        GoldenError: The golden's tolerances cannot be read.
        MetricsError: Its metrics cannot be.
    """
    return Reference(
        noun="a foreign log" if blessed.is_foreign else "the golden",
        is_foreign=blessed.is_foreign,
        path=blessed.path,
        provenance=blessed.provenance,
        environment=blessed.provenance.environment,
        digests=blessed.provenance.digests,
        tolerances=tolerances_of(recipe, blessed),
        num_records=adapters.summarise(blessed.metrics).num_records,
        thinned=True,
    )


def run_reference(stored: runs.StoredRun, recipe: Recipe) -> Reference:
    """A finished run in place of a golden; its overrides are what is to be repeated."""
    recorded = environment_json.recorded(stored.path)
    platform = fingerprint.platform_of(recorded)
    run = ReferenceRun(path=str(stored.path), overrides=stored.record.modified or ())
    return Reference(
        noun=run.noun,
        path=stored.path,
        provenance=Provenance(
            recipe=stored.record.recipe or "",
            platform=platform,
            seed=stored.record.seed,
            fingerprint=fingerprint.fingerprint(recorded),
        ),
        environment=sections(recorded, _SECTIONS),
        digests=stored.record.digests,
        tolerances=recipe.tolerances_on(platform),
        num_records=_num_records(stored.path / METRICS),
        thinned=False,
        run=run,
    )


def tolerances_of(recipe: Recipe, blessed: golden.Golden) -> Tolerances:
    """What both recipe and golden grant on its platform; a ``GoldenError`` where that is unreadable.

    Of a foreign log, what was declared when it was imported.
    """
    platform = blessed.provenance.platform
    try:
        then = recipes.tolerances_from(blessed.provenance.tolerances or {}, platform=platform)
    except (UsageError, TypeError, AttributeError) as error:
        raise GoldenError(f"its tolerances cannot be read: {error}", where=str(blessed.path)) from error
    if blessed.is_foreign:  # the recipe's are those of one's own runs
        return then
    return recipes.NarrowerTolerances(one=recipe.tolerances_on(platform), other=then)


def _num_records(metrics: Path) -> int:
    try:
        return adapters.summarise(metrics).num_records
    except MetricsError:
        return 0
