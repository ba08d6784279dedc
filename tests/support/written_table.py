"""Tables that tests write."""

from __future__ import annotations

import pytest


@pytest.fixture
def table(tmp_path):
    """Writes a table, and says where."""

    def table(text: str, name: str = "a.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return table
