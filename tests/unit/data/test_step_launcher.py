"""The clock of the second preparation: a day ahead, and every class still what it was."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from reprokit.data import step_launcher

STEP = """
import datetime as dt, json, pickle, time
from pathlib import Path
held = Path(__file__).parent.joinpath("real").read_text()

class Own(dt.datetime):
    pass

def clocks(inputs, output, *, seed):
    def hours(found):
        return round((found - float(held)) / 3600, 1)
    def calendar(words):
        return time.mktime(time.strptime(words))
    found = {
        "time": time.time(), "time_ns": time.time_ns() / 1e9,
        "clock_gettime": time.clock_gettime(time.CLOCK_REALTIME),
        "clock_gettime_ns": time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
        "asctime": calendar(time.asctime()), "ctime": calendar(time.ctime()),
        "localtime": time.mktime(time.localtime()),
        "gmtime": dt.datetime(*time.gmtime()[:6], tzinfo=dt.UTC).timestamp(),
        "strftime": calendar(time.strftime("%a %b %d %H:%M:%S %Y")),
        "now": dt.datetime.now().timestamp(), "now(tz)": dt.datetime.now(tz=dt.UTC).timestamp(),
        "utcnow": dt.datetime.utcnow().replace(tzinfo=dt.UTC).timestamp(),
        "datetime.today": dt.datetime.today().timestamp(), "Own.now": Own.now().timestamp(),
    }
    kinds = {
        "now": isinstance(dt.datetime.now(), dt.datetime), "date": isinstance(dt.datetime.now(), dt.date),
        "Own": [type(Own.now()) is Own, type(Own.utcnow()) is Own, type(Own.today()) is Own],
        "tz": dt.datetime.now(dt.UTC).tzinfo is dt.UTC and dt.datetime.utcnow().tzinfo is None,
        "pickled": pickle.loads(pickle.dumps(dt.datetime(2020, 1, 1))) == dt.datetime(2020, 1, 1),
        "made": type(dt.datetime.strptime("2020", "%Y")) is dt.datetime,
        "monotonic": time.clock_gettime(time.CLOCK_MONOTONIC) - time.monotonic() < 60,
    }
    days = (dt.date.today() - dt.date.fromtimestamp(float(held))).days
    Path(output, "found.json").write_text(
        json.dumps({"hours": {name: hours(one) for name, one in found.items()}, "kinds": kinds, "days": days})
    )
"""

TABLES = """
import datetime as dt, time
from pathlib import Path
held = float(Path(__file__).parent.joinpath("real").read_text())

def pyarrow(inputs, output, *, seed):
    import pyarrow as pa
    import pyarrow.parquet as pq
    rows = [{"at": dt.datetime(2020, 1, 1), "on": dt.date(2020, 1, 2), "seen": dt.datetime.now()}] * 3
    pq.write_table(pa.Table.from_pylist(rows), Path(output, "a.parquet"))
    found = pq.read_table(Path(output, "a.parquet")).to_pylist()
    assert type(found[0]["at"]) is dt.datetime, found

def pandas(inputs, output, *, seed):
    import pandas as pd
    ahead = pd.Timestamp.now() - pd.Timestamp(dt.datetime.fromtimestamp(held))
    assert 23 < ahead.total_seconds() / 3600 < 25, ahead
    assert isinstance(pd.Timestamp.now(), dt.datetime)
    assert pd.to_datetime([dt.datetime(2020, 1, 1), dt.date(2020, 1, 2)])[1] == pd.Timestamp("2020-01-02")
    pd.DataFrame({"at": [dt.datetime(2020, 1, 1)], "on": [dt.date(2020, 1, 2)]}).to_csv(Path(output, "a.csv"))
"""


def started(folder, code: str, function: str, *, days_ahead: int) -> subprocess.CompletedProcess[str]:
    """The launcher as a preparation starts it, in a process of its own."""
    (folder / "recipe").mkdir()
    (folder / "out").mkdir()
    (folder / "recipe/step.py").write_text(code)
    (folder / "recipe/real").write_text(str(time.time()))
    call = {"script": "", "function": f"step:{function}", "inputs": [], "settings": {}, "seed": 1}
    (folder / "call.json").write_text(json.dumps({**call, "days_ahead": days_ahead}))
    words = [step_launcher.__file__, str(folder / "call.json"), str(folder), str(folder / "out")]
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("days", [0, 1])
def test_every_clock_that_tells_the_date_is_as_many_days_ahead_as_asked(tmp_path, days):
    ended = started(tmp_path, STEP, "clocks", days_ahead=days)
    assert ended.returncode == 0, ended.stderr
    found = json.loads((tmp_path / "out/found.json").read_text())
    assert {name: hours for name, hours in found["hours"].items() if hours != 24 * days} == {}
    assert found["days"] in {days, days + 1}  # midnight may come in between


def test_classes_and_what_they_make_stay_what_they_are_with_the_clock_ahead(tmp_path):
    assert started(tmp_path, STEP, "clocks", days_ahead=1).returncode == 0
    kinds = json.loads((tmp_path / "out/found.json").read_text())["kinds"]
    assert kinds == {**dict.fromkeys(kinds, True), "Own": [True, True, True]}


@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
def test_extensions_that_hold_on_to_the_classes_work_with_the_clock_ahead(tmp_path, library):
    pytest.importorskip(library)
    ended = started(tmp_path, TABLES, library, days_ahead=1)
    assert ended.returncode == 0, ended.stderr
