"""What the tests of this folder share."""

from __future__ import annotations

import pytest

from reprokit.harness.running.environments import shared_places


@pytest.fixture(autouse=True)
def _no_memory_of_other_programs(monkeypatch):
    """What other programs of this machine leave in shared memory meanwhile is no matter of these tests."""
    monkeypatch.setattr(shared_places, "_memory_since", lambda _since: ())
