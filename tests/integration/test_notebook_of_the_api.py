"""The tutorial's notebook, cell by cell, as a kernel would run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "from-python.ipynb"


def test_every_cell_runs_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [one for one in json.loads(NOTEBOOK.read_text())["cells"] if one["cell_type"] == "code"]
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cells, start=1):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)  # noqa: S102 - our own notebook
    assert names["check"].exit_code == 1
    cause = names["found"].cause
    assert (cause.category, cause.line) == ("unseeded_rng", 3)
