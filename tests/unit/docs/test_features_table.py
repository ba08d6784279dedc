"""The table of features: every path in it is there, and every row shows a test or says why not."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TABLE = (ROOT / "docs" / "reference" / "features.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TABLE.splitlines()
    if line.startswith("| ") and not line.startswith("| feature")
]
PATH = re.compile(r"`((?:reprokit|recipes|tests|docs|benchmarks)/[^`\s]+|compose\.yaml)`")


def test_the_table_has_rows_of_four_cells():
    assert len(ROWS) > 40
    assert {len(row) for row in ROWS} == {4}


@pytest.mark.parametrize("path", sorted(set(PATH.findall(TABLE))))
def test_every_path_of_the_table_is_there(path):
    assert (ROOT / path).exists(), path


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_row_shows_a_test_or_says_what_it_waits_for(row):
    _, documents, where, shown = row
    assert re.fullmatch(r"[RGPTF](, [RGPTF])*", documents)
    tests = [path for path in PATH.findall(shown) if path.startswith("tests/")]
    assert tests or where.startswith(("later", "not built")), row
