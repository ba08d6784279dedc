"""MLflow's database: what it holds, and databases that someone made to do harm."""

import math
import os
import sqlite3
import time

import pytest

from reprokit import adapters
from reprokit.adapters import from_mlflow, steps_merged
from reprokit.core.comparison import exit_code
from reprokit.errors import MetricsError

RUNS = "CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY, start_time BIGINT)"
METRICS = (
    "CREATE TABLE metrics (key VARCHAR(250), value FLOAT NOT NULL, timestamp BIGINT, run_uuid VARCHAR(32), "
    "step BIGINT DEFAULT '0' NOT NULL, is_nan BOOLEAN DEFAULT '0' NOT NULL)"
)


def made(path, *statements, rows=(), runs=(("a", 1),), tables=(RUNS, METRICS)):
    """A database with rows of run, key, step, value and is_nan."""
    connection = sqlite3.connect(path)
    for statement in tables:
        connection.execute(statement)
    if tables == (RUNS, METRICS):
        connection.executemany("INSERT INTO runs VALUES (?, ?)", runs)
        connection.executemany(
            "INSERT INTO metrics (run_uuid, key, step, value, is_nan) VALUES (?, ?, ?, ?, ?)", rows
        )
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def records(path):
    found = list(from_mlflow.read(path))
    assert all(reading.record is not None for reading in found), found
    return [reading.record for reading in found]


def words(path):
    return [kind for reading in from_mlflow.read(path) for kind, _ in reading.notes]


def test_a_record_is_a_step(tmp_path):
    rows = [("a", "loss", 1, 0.25, 0), ("a", "loss", 0, 0.1, 0), ("a", "acc", 1, 2, 0)]
    assert records(made(tmp_path / "mlflow.db", rows=rows)) == [
        {"step": 0, "loss": 0.1},
        {"step": 1, "acc": 2.0, "loss": 0.25},
    ]


def test_a_metric_that_is_logged_twice_at_a_step_gives_two_records(tmp_path):
    rows = [("a", "loss", 0, 0.5, 0), ("a", "loss", 0, 0.25, 0), ("a", "acc", 0, 1.0, 0)]
    assert records(made(tmp_path / "mlflow.db", rows=rows)) == [
        {"step": 0, "acc": 1.0, "loss": 0.5},
        {"step": 0, "loss": 0.25},
    ]


def test_nan_is_in_a_column_of_its_own(tmp_path):
    (record,) = records(made(tmp_path / "mlflow.db", rows=[("a", "loss", 0, 0.0, 1)]))
    assert math.isnan(record["loss"])


def test_several_runs_are_numbered_in_the_order_they_began(tmp_path):
    rows = [(run, "loss", 0, value, 0) for run, value in (("ff", 1.0), ("00", 2.0))]
    runs = [("ff", 1), ("00", 2), ("empty", 0)]
    assert records(made(tmp_path / "mlflow.db", rows=rows, runs=runs)) == [
        {"step": 0, "run 1/loss": 1.0},
        {"step": 0, "run 2/loss": 2.0},
    ]


def test_metrics_of_a_run_that_is_not_listed_are_not_left_out_unseen(tmp_path):
    rows = [("a", "loss", 0, 1.0, 0), ("b", "loss", 0, 2.0, 0)]
    assert words(made(tmp_path / "mlflow.db", rows=rows)) == ["corrupt_database"]


def test_a_metric_called_step_keeps_its_name(tmp_path):
    assert records(made(tmp_path / "mlflow.db", rows=[("a", "step", 7, 1.0, 0)])) == [
        {"_step": 7, "step": 1.0}
    ]


def test_random_ids_are_no_difference(tmp_path):
    for run, name in (("1" * 32, "a"), ("2" * 32, "b")):
        (tmp_path / name).mkdir()
        made(tmp_path / name / "mlflow.db", rows=[(run, "loss", 0, 0.1, 0)], runs=[(run, len(name))])
    assert adapters.compare_runs(tmp_path / "a", tmp_path / "b").identical


def test_only_databases_with_its_tables_are_taken_for_one(tmp_path):
    made(tmp_path / "other.db", tables=("CREATE TABLE trials (id INTEGER)",))
    (tmp_path / "text.db").write_text("no database")
    (tmp_path / "dangling.sqlite").symlink_to(tmp_path / "nothing")
    assert adapters.find(tmp_path) is None
    made(tmp_path / "tracking.sqlite", rows=[("a", "loss", 0, 0.1, 0)])
    assert [source.adapter for source in adapters.find_all(tmp_path)] == ["mlflow"]


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_database_that_was_not_closed_is_half_a_log(tmp_path, ending):
    path = made(tmp_path / "mlflow.db", rows=[("a", "loss", 0, 0.1, 0)])
    beside = path.with_name(path.name + ending)
    beside.touch()
    assert words(path) == []
    beside.write_bytes(b"x")
    assert words(path) == ["not_closed"]
    beside.unlink()
    beside.symlink_to("/dev/zero")
    assert words(path) == ["not_closed"]
    assert exit_code(adapters.compare(path, path)) == 2


@pytest.mark.parametrize("where", [3, 20, 100, 1000, 4096, 5000, -1])
def test_a_database_that_is_cut_off_gives_an_error_and_never_fewer_numbers(tmp_path, where):
    rows = [("a", f"m{at % 9}", at, at / 7, 0) for at in range(900)]
    path = made(tmp_path / "mlflow.db", rows=rows)
    data = path.read_bytes()
    path.write_bytes(data[:where])
    assert words(path)[-1:] == ["corrupt_database"]


ENDLESS = """CREATE VIEW metrics AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i FROM n)
    SELECT 'x' AS key, i AS value, 0 AS step, 0 AS is_nan, 'a' AS run_uuid FROM n"""
COMPUTED = """CREATE TABLE metrics (key TEXT, value FLOAT AS (abs(step)), step BIGINT, is_nan BOOLEAN,
    run_uuid TEXT)"""
UNNUMBERED = """CREATE TABLE metrics (key TEXT, value FLOAT, step BIGINT, is_nan BOOLEAN,
    run_uuid TEXT PRIMARY KEY) WITHOUT ROWID"""
HARM = {
    "view": (RUNS, "CREATE VIEW metrics AS SELECT 'x' AS key, 1 AS value, 0 AS step, 0 AS is_nan"),
    "endless view": (RUNS, ENDLESS),
    "virtual table": (RUNS, "CREATE VIRTUAL TABLE metrics USING fts5(key, value, step, is_nan, run_uuid)"),
    "computed column": (RUNS, COMPUTED),
    "no rowid": (RUNS, UNNUMBERED),
    "no column": (RUNS, "CREATE TABLE metrics (key TEXT)"),
    "no table": (RUNS,),
}


@pytest.mark.parametrize("name", HARM)
def test_a_schema_that_is_not_the_librarys_is_refused(tmp_path, name):
    path = made(tmp_path / "mlflow.db", tables=HARM[name])
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO runs VALUES ('a', 1)")
    if name == "computed column":
        connection.execute("INSERT INTO metrics (key, step, is_nan, run_uuid) VALUES ('x', 1, 0, 'a')")
    connection.commit()
    connection.close()
    begun = time.process_time()
    assert words(path) == ["corrupt_database"]
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    "row",
    [
        ("a", "loss", 0, "0.5x", 0),
        ("a", "loss", 0, b"\0" * 8, 0),
        ("a", "loss", "one", 0.5, 0),
        ("a", b"loss", 0, 0.5, 0),
        ("a", "loss", 0, 0.5, 2),
        ("a", "x" * 200_000, 0, 0.5, 0),
    ],
)
def test_a_value_of_another_type_is_refused(tmp_path, row):
    assert words(made(tmp_path / "mlflow.db", rows=[row])) == ["corrupt_database"]


def test_a_text_that_is_not_utf_8_is_refused(tmp_path):
    row = "INSERT INTO metrics (run_uuid, key, step, value) VALUES ('a', CAST(x'ff' AS TEXT), 0, 1.0)"
    assert words(made(tmp_path / "mlflow.db", row)) == ["corrupt_database"]


def test_a_trigger_does_nothing(tmp_path):
    trigger = "CREATE TRIGGER t AFTER INSERT ON metrics BEGIN DELETE FROM metrics; END"
    path = made(tmp_path / "mlflow.db", trigger, rows=[("a", "loss", 0, 0.1, 0)])
    before = path.read_bytes()
    assert records(path) == [{"step": 0, "loss": 0.1}]
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["mlflow.db"]


def test_nothing_is_read_by_way_of_a_link_to_a_special_file(tmp_path):
    os.mkfifo(tmp_path / "mlflow.db")
    with pytest.raises(MetricsError, match="not a regular file"):
        list(from_mlflow.read(tmp_path / "mlflow.db"))


def test_a_name_that_looks_like_an_option_of_sqlite_is_a_name(tmp_path):
    path = made(tmp_path / "a?mode=rwc&x#.db", rows=[("a", "loss", 0, 0.1, 0)])
    assert records(path) == [{"step": 0, "loss": 0.1}]


def test_too_many_metrics_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(steps_merged, "MAX_METRICS", 10)
    rows = [("a", f"m{at}", 0, 0.5, 0) for at in range(11)]
    assert words(made(tmp_path / "mlflow.db", rows=rows)) == ["too_many_metrics"]


def test_too_many_names_are_named_in_bounded_time(tmp_path):
    rows = (("a", f"m{at}", 0, 0.5, 0) for at in range(110_000))
    path = made(tmp_path / "mlflow.db", rows=rows)
    begun = time.process_time()
    assert words(path) == ["too_many_metrics"]
    assert time.process_time() - begun < 10
