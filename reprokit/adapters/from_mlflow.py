"""MLflow's database (``mlflow.db``, SQLite): the metrics of every run in it, in the order the runs began.

The file is opened for reading only, as one that no one writes to, and nothing but two tables of it is read:
SQLite's authorizer refuses views, triggers, virtual tables, computed columns and functions of the schema. Of
several runs, metrics are called ``run 2/loss``. Times, parameters, tags and random ids are left out.

    >>> next(read(Path("mlflow.db"))).record
    {'step': 0, 'loss': 0.5}
"""

from __future__ import annotations

import os
import re
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from reprokit.adapters.reading import Reading, open_file
from reprokit.adapters.steps_merged import TooManyError, records

NAME = "mlflow"
ORDER = 40
WHOLE_FOLDER = False
PATTERNS = ("mlflow.db", "mlruns.db", "*.db", "*.sqlite", "*.sqlite3")

MAX_RUNS = 10_000
MAX_VALUE_BYTES = 1 << 16

_MAGIC = b"SQLite format 3\0"
_TABLES = {
    "runs": ("run_uuid", "start_time"),
    "metrics": ("key", "value", "step", "is_nan", "run_uuid"),
}
_READ = {(table, column) for table, columns in _TABLES.items() for column in (*columns, "ROWID", "")}
_SCHEMA = {("sqlite_master", column) for column in ("type", "name", "sql", "rootpage", "tbl_name", "")}
#: MLflow's tables have no computed column, are made from no query, and their rows are numbered.
_PLAIN_TABLE = re.compile(r"CREATE\s+TABLE\b(?!.*\b(?:AS|GENERATED|WITHOUT)\b)", re.IGNORECASE | re.DOTALL)
#: Instructions of SQLite's machine between two looks, and how many of them a database of a size may take.
_INSTRUCTIONS = 10_000
_LOOKS, _BYTES_A_LOOK = 20_000, 1_000


class _RefusedError(ValueError):
    """The database is not one that MLflow writes, or too large."""


def reads(path: Path) -> bool:
    """Whether a file called like MLflow's, or a database that has MLflow's tables."""
    if path.name.lower() in PATTERNS[:2]:
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC and _has_tables(path)
    except (OSError, sqlite3.Error):
        return False


def read(path: Path) -> Iterator[Reading]:
    """The metrics of a database.

    Raises:
        MetricsError: The path cannot be opened.
    """
    descriptor = open_file(path)
    size = os.fstat(descriptor).st_size
    os.close(descriptor)
    unwritten = next((kind for kind in ("-wal", "-journal") if _size_of(path, kind)), None)
    if not size and not unwritten:
        yield Reading(line=None, record=None, notes=(("empty_file", ""),))
        return
    if unwritten:
        detail = f"{path.name}{unwritten} holds changes that are not in the database yet"
        yield Reading(line=None, record=None, notes=(("not_closed", detail),))
        return
    number = 0
    try:
        _must_be_whole(path, size)
        with closing(_connect(path, size)) as connection:
            for number, record in enumerate(_records(connection), start=1):
                yield Reading(line=number, record=record)
    except TooManyError as error:
        yield Reading(line=number + 1, record=None, notes=(("too_many_metrics", str(error)),))
    except (_RefusedError, sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        yield Reading(line=number + 1, record=None, notes=(("corrupt_database", str(error)[:120]),))


def _must_be_whole(path: Path, size: int) -> None:
    """See that the file has all the pages that it says; SQLite notices only pages that it needs.

    Source: sqlite.org/fileformat.html, the database header.
    """
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(_MAGIC):
        raise _RefusedError("it does not begin as a database of SQLite does")
    (page_bytes,), (num_pages,) = struct.unpack(">H", header[16:18]), struct.unpack(">I", header[28:32])
    expected = num_pages * (1 << 16 if page_bytes == 1 else page_bytes)
    if size != expected:
        raise _RefusedError(f"it has {size:,} of {expected:,} bytes")


def _size_of(path: Path, ending: str) -> int:
    """Size of a file next to the database; a link or a special file counts as one that holds something."""
    try:
        found = path.with_name(path.name + ending).lstat()
    except OSError:
        return 0
    return found.st_size


def _connect(path: Path, size: int) -> sqlite3.Connection:
    """A connection that can read two tables and nothing else, for a limited time."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None
    )
    try:
        for limit, most in (
            (sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
            (sqlite3.SQLITE_LIMIT_COLUMN, 100),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        ):
            connection.setlimit(limit, most)
        for setting in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "temp_store=MEMORY"):
            connection.execute(f"PRAGMA {setting}")
        looks = iter(range(_LOOKS + size // _BYTES_A_LOOK))
        connection.set_progress_handler(lambda: next(looks, None) is None, _INSTRUCTIONS)
        connection.set_authorizer(_may)
    except BaseException:
        connection.close()
        raise
    return connection


def _may(action: int, table: str | None, column: str | None, _schema: str | None, inside: str | None) -> int:
    """SQLite's authorizer: only selecting, and only these columns, not by way of a view or trigger."""
    if inside is None and action == sqlite3.SQLITE_SELECT:
        return sqlite3.SQLITE_OK
    if inside is None and action == sqlite3.SQLITE_READ and (table, column) in _READ | _SCHEMA:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _has_tables(path: Path) -> bool:
    with closing(_connect(path, 0)) as connection:
        return all(_is_plain_table(connection, table) for table in _TABLES)


def _is_plain_table(connection: sqlite3.Connection, table: str) -> bool:
    found = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = ?", (table,)).fetchall()
    return len(found) == 1 and found[0][0] == "table" and bool(_PLAIN_TABLE.match(str(found[0][1])))


def _records(connection: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for table in _TABLES:
        if not _is_plain_table(connection, table):
            raise _RefusedError(f"it has no plain table {table}, as MLflow makes one")
    # Every table is read row by row: a damaged index must not hide rows.
    runs = _runs(connection, "SELECT run_uuid FROM runs NOT INDEXED ORDER BY start_time, rowid LIMIT ?")
    logging = set(_runs(connection, "SELECT DISTINCT run_uuid FROM metrics NOT INDEXED LIMIT ?"))
    if not logging.issubset(runs):
        raise _RefusedError("it holds metrics of a run that is not among its runs")
    for number, run in enumerate((run for run in runs if run in logging), start=1):
        prefix = f"run {number}/" if len(logging) > 1 else ""
        for record in records(_values(connection, run)):
            yield {
                name if name in {"step", "_step"} else prefix + name: value for name, value in record.items()
            }


def _runs(connection: sqlite3.Connection, query: str) -> list[str]:
    found = [_text(run) for (run,) in connection.execute(query, (MAX_RUNS + 1,))]
    if len(found) > MAX_RUNS:
        raise _RefusedError(f"it holds more than {MAX_RUNS:,} runs")
    return found


def _values(connection: sqlite3.Connection, run: str) -> Iterator[tuple[int, str, float]]:
    """Step, name and number of every value, as ``steps_merged`` wants them."""
    rows = connection.execute(
        "SELECT step, key, value, is_nan FROM metrics NOT INDEXED WHERE run_uuid = ? "
        "ORDER BY step, key, rowid",
        (run,),
    )
    for step, key, value, is_nan in rows:
        if type(step) is not int or type(value) not in {float, int} or is_nan not in {0, 1, None}:
            raise _RefusedError(f"a row of metrics is not of MLflow's types: {(step, value, is_nan)!r:.60}")
        yield step, _text(key), float("nan") if is_nan else float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _RefusedError(f"a text is not of MLflow's type: {value!r:.60}")
    return value
