"""The record of a search: ``runs/sweeps/<name>/study.json``, its trials in the order of their numbers.

Everything in it follows from the search's definition and from run folders, and nothing in it from the time
or the order in which runs ended: equal searches have equal bytes. Which run a trial stands on says
``sweep.json`` next to it, by ``identity``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypedDict

from reprokit.core.records import SCHEMA_VERSION
from reprokit.errors import ReportError
from reprokit.features.tune.definition_data import DefinitionData
from reprokit.layout import STUDY
from reprokit.records.newer import refuse_newer_schema
from reprokit.records.strict import read_object
from reprokit.workspace import write_json


class TrialState(StrEnum):
    """How far a trial is, in Optuna's words."""

    WAITING = "WAITING"  # its settings are drawn, or wait for the results that they follow from
    COMPLETE = "COMPLETE"
    PRUNED = "PRUNED"  # stopped at a step by which earlier trials did better
    FAIL = "FAIL"  # its program crashed, was killed, ran out of memory or time, or has no such number


class TrialData(TypedDict):
    """A trial as ``study.json`` and ``--json`` have it; ``params`` are settings of the program."""

    number: int
    params: dict[str, Any]
    value: float | None
    state: str
    values: list[float]
    pruned_at: int | None
    message: str
    identities: list[str]


class StudyData(DefinitionData):
    """``study.json``; ``best`` is the number of the best trial."""

    schema: int
    name: str
    best: int | None
    trials: list[TrialData]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One member of a search.

    Attributes:
        number: From 0, in the order in which settings are drawn.
        params: Setting → value; empty where it is not drawn yet.
        state: How far it is.
        value: The number that is searched for; of a pruned one that at ``pruned_at``; None where it has none.
        values: That number with each tuning seed, in their order.
        pruned_at: Position of the last report that counts, from 0; None where it was not pruned.
        message: Why it has no value, one sentence, or "".
        identities: Of its runs, as ``sweep.json`` has them, in the order of the seeds.
        curve: What its first seed reported, up to its end or ``pruned_at``; empty without a pruner.
        rungs: What Hyperband noted of it on its way.
    """

    number: int
    params: Mapping[str, Any]
    state: TrialState = TrialState.WAITING
    value: float | None = None
    values: tuple[float, ...] = ()
    pruned_at: int | None = None
    message: str = ""
    identities: tuple[str, ...] = ()
    curve: tuple[float, ...] = ()
    rungs: tuple[tuple[str, float], ...] = ()

    def as_data(self) -> TrialData:
        """The trial as ``study.json`` and ``--json`` have it."""
        return {
            "number": self.number,
            "params": dict(self.params),
            "value": self.value,
            "state": str(self.state),
            "values": list(self.values),
            "pruned_at": self.pruned_at,
            "message": self.message,
            "identities": list(self.identities),
        }


def as_data(
    name: str, definition: DefinitionData, trials: Sequence[Trial], *, best: Trial | None
) -> StudyData:
    """A search as ``study.json`` holds it."""
    return {
        "schema": SCHEMA_VERSION,
        "name": name,
        **definition,
        "best": None if best is None else best.number,
        "trials": [trial.as_data() for trial in trials],
    }


def must_not_be_newer(folder: Path) -> None:
    """Refuse to write over the record of a search that a later version made; one that is damaged is replaced.

    Raises:
        UsageError: It is one.
    """
    file = folder / STUDY
    try:
        said = read_object(file)
    except (OSError, ValueError):
        return
    refuse_newer_schema(said.get("schema"), name=STUDY, where=str(file), error=ReportError)


def write(folder: Path, data: StudyData) -> Path:
    """Write ``study.json``, whole or not at all; returns its path.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    write_json(folder / STUDY, data)
    return folder / STUDY
