"""The fixture writes no golden where CI is set; these tests are of what it writes elsewhere."""

import pytest


@pytest.fixture(autouse=True)
def _outside_a_ci(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
