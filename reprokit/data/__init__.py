"""Data that trainings read: fetched once, held against size and digest, shared by all recipes.

Nothing here runs beside a training: the network is used by `reprokit data fetch` alone.
"""

from reprokit.data.cache import State, Status, check, fetch, glance, place_of, signature
from reprokit.data.downloading import OnProgress
from reprokit.data.manifest import Column, Manifest, manifest_of
from reprokit.data.row_diff import ChangedRow, RowDiff, diff_rows
from reprokit.data.sources import DataSource
from reprokit.data.splitting import Part, must_be_disjoint, split
from reprokit.data.tables import SUFFIXES, Row, form_of, rows, table_bytes

__all__ = [
    "SUFFIXES",
    "ChangedRow",
    "Column",
    "DataSource",
    "Manifest",
    "OnProgress",
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
    "must_be_disjoint",
    "place_of",
    "rows",
    "signature",
    "split",
    "table_bytes",
]
