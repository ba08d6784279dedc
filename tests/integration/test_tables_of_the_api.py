"""The records of `reprokit.api` as tables of pandas and of polars, with both really installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.wheel_environments import UV, answer, environment_with

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

PAST = Path(__file__).parents[1] / "data" / "schema-1"
ASK = """\
import json
from reprokit import api

report, (one, other) = api.read_report(api.list_reports()[0]), map(api.read_run, api.list_runs())
told = {}
for record in (report, one, api.diff(one.path, other.path), api.read_golden(api.list_goldens()[0])):
    pandas, polars = record.to_pandas(), record.to_polars()
    rows = [dict(row) for row in record.rows_of_table()]
    same = pandas.to_dict("records") == polars.to_dicts() == rows
    kinds = [type(table).__module__.partition(".")[0] for table in (pandas, polars)]
    told[type(record).__name__] = [*kinds, len(rows), same]
print(json.dumps(told))
"""


def test_a_record_is_the_same_table_in_both(wheel: Path, tmp_path: Path) -> None:
    python = environment_with("", wheel=wheel, folder=tmp_path) / "bin" / "python"
    install = (UV, "pip", "install", "--quiet", "--no-config", f"--python={python}", "pandas", "polars")
    answer(*install, folder=tmp_path)
    shutil.copytree(PAST, tmp_path / "past")
    told = json.loads(answer(python, "-c", ASK, folder=tmp_path / "past"))
    assert set(told) == {"Report", "Run", "Comparison", "Golden"}
    for name, (pandas, polars, rows, same) in told.items():
        assert (pandas, polars, same) == ("pandas", "polars", True), name
        assert rows > 0, name
