"""Data that trainings read: fetched once, compared with size and digest, shared by all recipes.

Nothing here runs beside a training: the network is used by `reprokit data fetch` alone.
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
from reprokit.data.conversion import converted
from reprokit.data.downloading import OnProgress
from reprokit.data.hdf5 import FORM as HDF5
from reprokit.data.hdf5 import groups_of
from reprokit.data.manifest import Column, DataManifest, digest_and_size, manifest_of
from reprokit.data.parts import write_part
from reprokit.data.row_diff import ChangedRow, RowDiff, diff_rows
from reprokit.data.sources import DataSource
from reprokit.data.splitting import Overlaps, SplitPart, overlaps, split
from reprokit.data.tables import SUFFIXES, DataRow, columns_of, form_of, kind_of, rows, table_bytes
from reprokit.data.texts import LINES
from reprokit.data.tokens import FORM as TOKENS
from reprokit.data.tokens import decode, encode, read_vocabulary

__all__ = [
    "HDF5",
    "LINES",
    "SUFFIXES",
    "TOKENS",
    "ChangedRow",
    "Column",
    "DataManifest",
    "DataRow",
    "DataSource",
    "OnProgress",
    "Overlaps",
    "RowDiff",
    "SourceState",
    "SourceStatus",
    "SplitPart",
    "check",
    "columns_of",
    "converted",
    "decode",
    "diff_rows",
    "digest_and_size",
    "encode",
    "fetch",
    "form_of",
    "glance",
    "groups_of",
    "kind_of",
    "manifest_of",
    "other_at_its_place",
    "overlaps",
    "place_of",
    "read_vocabulary",
    "rows",
    "signature",
    "split",
    "table_bytes",
    "write_part",
]
