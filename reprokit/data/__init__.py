"""Data that trainings read: fetched once, held against size and digest, shared by all recipes.

Nothing here runs beside a training: the network is used by `reprokit data fetch` alone.
"""

from reprokit.data.cache import State, Status, check, fetch, glance, place_of, signature
from reprokit.data.columnar import FORMS as COLUMNAR
from reprokit.data.columnar import taken
from reprokit.data.downloading import OnProgress
from reprokit.data.manifest import Column, Manifest, manifest_of
from reprokit.data.row_diff import ChangedRow, RowDiff, diff_rows
from reprokit.data.sources import DataSource
from reprokit.data.splitting import Overlaps, Part, overlaps, split
from reprokit.data.tables import SUFFIXES, Row, form_of, rows, table_bytes

__all__ = [
    "COLUMNAR",
    "SUFFIXES",
    "ChangedRow",
    "Column",
    "DataSource",
    "Manifest",
    "OnProgress",
    "Overlaps",
    "Part",
    "Row",
    "RowDiff",
    "State",
    "Status",
    "check",
    "diff_rows",
    "fetch",
    "form_of",
    "glance",
    "manifest_of",
    "overlaps",
    "place_of",
    "rows",
    "signature",
    "split",
    "table_bytes",
    "taken",
]
