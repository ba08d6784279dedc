"""Run folders, goldens and ensembles, as they lie on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit import adapters
from reprokit.api.tables import Tabular
from reprokit.core.records import Outcome
from reprokit.errors import MetricsError
from reprokit.golden import ensemble as ensembles
from reprokit.golden.folder import Golden as StoredGolden
from reprokit.layout import ENVIRONMENT, METRICS, read_json
from reprokit.runs import StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Tabular):
    """A run folder. Its table has one line a record of its metrics.

    Attributes:
        path: The folder.
        run_id: The folder's name.
        recipe: The recipe, or what runs of a plain command are filed under; "" where no one knows.
        seed: None where `run.json` does not say it.
        complete: Every file is there, as it was when the run ended.
        incomplete_because: Why not, in one sentence; "" where it is.
        outcome: How it ended, such as ``complete``; None where no one knows.
        exit_code: That of the program.
        started_at: ISO 8601, UTC; None where no one knows.
        duration_s: Wall clock, seconds.
        command: The program's command line.
        files: Name → size in bytes.
        environment: ``environment.json``.
        data: ``run.json``, in plain JSON types.

    >>> run = read_run(list_runs()[0])
    >>> run.seed, run.outcome, run.complete
    (42, 'completed', True)
    >>> next(run.records())["step"] >= 0
    True
    """

    path: Path
    run_id: str
    recipe: str
    seed: int | None
    complete: bool
    incomplete_because: str
    outcome: Outcome | str | None
    exit_code: int | str | None
    started_at: str | None
    duration_s: float | None
    command: tuple[str, ...]
    files: Mapping[str, int]
    environment: Mapping[str, Any] = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """The records of its metrics, one at a time, in the order in which they were written.

        Raises:
            MetricsError: It has none, or one cannot be read.
        """
        source = adapters.find(self.path)
        if source is None:
            raise adapters.no_metrics(self.path)
        return _whole_records(source.path)

    def rows_of_table(self) -> list[Mapping[str, Any]]:
        """The records of its metrics."""
        return list(self.records())

    def headline(self) -> tuple[str, str, str]:
        """How it ended."""
        tone = "good" if self.complete else "bad"
        told = self.incomplete_because or f"seed {self.seed}, {self.duration_s} s"
        return f"{self.recipe}/{self.run_id}", tone, told


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden(Tabular):
    """A golden whose files are the ones that were promoted. Its table has one line a record.

    Attributes:
        path: The folder.
        recipe: Its recipe.
        platform: ``cpu-x86_64``, …
        seed: Of the runs that it was promoted from.
        reason: Why it was promoted.
        created_at: ISO 8601, UTC.
        data: ``provenance.json``, in plain JSON types.

    >>> golden = read_golden(list_goldens()[0])
    >>> golden.recipe, golden.seed, golden.reason != ""
    ('cartpole_baseline', 42, True)
    """

    path: Path
    recipe: str
    platform: str
    seed: int
    reason: str
    created_at: str
    data: Mapping[str, Any] = field(repr=False)

    def records(self) -> Iterator[Mapping[str, Any]]:
        """The promoted records, one at a time."""
        return _whole_records(self.path / METRICS)

    def rows_of_table(self) -> list[Mapping[str, Any]]:
        """The promoted records."""
        return list(self.records())

    def headline(self) -> tuple[str, str, str]:
        """What it is, and why it was promoted."""
        return f"{self.recipe}, {self.platform}, seed {self.seed}", "good", self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleMember:
    """One seed of an ensemble, and its number for each declared metric.

    >>> EnsembleMember(seed=1, values={"loss": 0.5}).values["loss"]
    0.5
    """

    seed: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensemble(Tabular):
    """An ensemble whose file is the one that was promoted. Its table has one line a seed.

    Attributes:
        path: The folder.
        recipe: Its recipe.
        platform: ``cpu-x86_64``, …
        members: By their seeds.
        data: ``provenance.json``, in plain JSON types.

    >>> from pathlib import Path
    >>> members = tuple(EnsembleMember(seed=seed, values={"loss": 0.5}) for seed in (1, 2))
    >>> one = Ensemble(path=Path("golden/x"), recipe="x", platform="cpu-x86_64", members=members, data={})
    >>> one.seeds
    (1, 2)
    """

    path: Path
    recipe: str
    platform: str
    members: tuple[EnsembleMember, ...]
    data: Mapping[str, Any] = field(repr=False)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, in the order of the members."""
        return tuple(member.seed for member in self.members)

    def rows_of_table(self) -> list[dict[str, Any]]:
        """``seed``, and a column of each declared metric."""
        return [{"seed": member.seed, **member.values} for member in self.members]

    def headline(self) -> tuple[str, str, str]:
        """What it is."""
        return f"{self.recipe}, {self.platform}", "good", f"{len(self.members)} seeds"


def run_of(stored: StoredRun) -> Run:
    """The record of a run folder that was read."""
    record = stored.record
    environment = stored.path / ENVIRONMENT
    return Run(
        path=stored.path,
        run_id=stored.path.name,
        recipe=record.recipe or "",
        seed=record.seed,
        complete=stored.complete,
        incomplete_because=stored.incomplete_because,
        outcome=record.outcome,
        exit_code=record.exit_code,
        started_at=record.started_at,
        duration_s=record.duration_s,
        command=record.command or (),
        files=stored.files,
        environment=read_json(environment) if environment.is_file() else {},
        data=stored.document,
    )


def golden_of(stored: StoredGolden) -> Golden:
    """The record of a golden that was read."""
    provenance = stored.provenance
    return Golden(
        path=stored.path,
        recipe=provenance.recipe,
        platform=provenance.platform,
        seed=stored.seed,
        reason=str(stored.document.get("reason", "")),
        created_at=str(stored.document.get("created_at", "")),
        data=stored.document,
    )


def ensemble_of(stored: ensembles.Ensemble) -> Ensemble:
    """The record of an ensemble that was read."""
    return Ensemble(
        path=stored.path,
        recipe=stored.provenance.recipe,
        platform=stored.provenance.platform,
        members=tuple(EnsembleMember(seed=one.seed, values=one.values) for one in stored.members),
        data=stored.document,
    )


def _whole_records(path: Path) -> Iterator[Mapping[str, Any]]:
    for reading in adapters.read_from(adapters.source_of(path), first=0, count=sys.maxsize):
        if reading.record is None:
            place = str(path) if reading.line is None else f"{path}:{reading.line}"
            raise MetricsError("the record cannot be read", where=place, actual=reading.notes[0][0])
        yield reading.record
