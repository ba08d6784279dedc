"""What ``provenance.json`` says of a golden or an ensemble, as one record; what is not said is None or empty.

``records.provenance_json`` reads it, and refuses what is not of this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reprokit.core.environment_record import EnvironmentRecord
from reprokit.core.extension_record import RecordedExtension
from reprokit.core.run_record import OutsideCode

_NOTHING: Mapping[str, Any] = {}  # no one writes to a record
_NO_ENVIRONMENT: EnvironmentRecord = {}


class ForeignSource(NamedTuple):
    """The published file that a foreign golden was taken from; ``sha256`` is None of a folder."""

    name: str = ""
    format: str = ""
    sha256: str | None = None
    metrics: tuple[str, ...] = ()


class OtherSeeds(NamedTuple):
    """The runs with other seeds that were there at the promotion, and the metrics that responded."""

    seed: int
    metrics: tuple[str, ...]
    third_seed: int | None = None


class BlessedMetric(NamedTuple):
    """A metric that an ensemble is judged by, as ``recipes.StatisticalMetric`` declares it."""

    metric: str
    window: str
    margin: float
    direction: str


class ComparedHalves(NamedTuple):
    """How two halves of an ensemble's seeds compare, in the order that split them."""

    order: str
    metric: str
    p_value: float


class LogsOfSeeds(NamedTuple):
    """The shape of the logs of an ensemble's seeds.

    Attributes:
        records: The fewest and the most that a log has.
        always: Metrics of all logs.
        sometimes: Metrics of some.
        not_finite: Metrics with a value that is not finite.
    """

    records: tuple[int, ...]
    always: tuple[str, ...]
    sometimes: tuple[str, ...]
    not_finite: tuple[str, ...]


class Provenance(NamedTuple):
    """``provenance.json``; of a run in the place of a golden what both have."""

    schema: int | None = None
    recipe: str = ""
    platform: str = ""
    seed: int | None = None
    digests: Mapping[str, str] = _NOTHING
    image: Mapping[str, str | None] = _NOTHING
    fingerprint: str = ""
    fingerprint_facts: Mapping[str, Any] = _NOTHING
    environment: EnvironmentRecord = _NO_ENVIRONMENT
    config: Mapping[str, Any] = _NOTHING
    cpu: str = ""
    command: tuple[str, ...] = ()
    program: Mapping[str, str] = _NOTHING
    outside_code: OutsideCode | None = None
    foreign: ForeignSource | None = None
    created_at: str = ""
    reason: str = ""
    runs_agreed: int = 0
    tolerances: Mapping[str, Any] | None = None
    responds: OtherSeeds | None = None
    sizes: Mapping[str, int] | None = None
    previous: str | None = None
    tool: Mapping[str, str] = _NOTHING
    seeds: tuple[int, ...] = ()
    statistical: tuple[BlessedMetric, ...] = ()
    halves: tuple[ComparedHalves, ...] = ()
    left_out: tuple[int, ...] = ()
    logs: LogsOfSeeds | None = None
    extensions: tuple[RecordedExtension, ...] = ()
