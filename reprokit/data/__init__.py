"""Data that trainings read: fetched once, compared with size and digest, shared by all recipes.

Nothing here runs alongside a training: the network is used by `reprokit data fetch` alone.
"""

from reprokit.data.cache import (
    SourceState,
    SourceStatus,
    check,
    fetch,
    glance,
    other_at_its_place,
    place_of,
    signature,
)
from reprokit.data.downloading import OnProgress
from reprokit.data.folders import digest_and_size
from reprokit.data.overlaps import Overlaps, overlaps
from reprokit.data.sources import DataSource
from reprokit.data.tables import DataRow, form_of, kind_of, rows

__all__ = [
    "DataRow",
    "DataSource",
    "OnProgress",
    "Overlaps",
    "SourceState",
    "SourceStatus",
    "check",
    "digest_and_size",
    "fetch",
    "form_of",
    "glance",
    "kind_of",
    "other_at_its_place",
    "overlaps",
    "place_of",
    "rows",
    "signature",
]
