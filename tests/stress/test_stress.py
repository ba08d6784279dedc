"""`make stress` with few rounds: each kind of harm once or a few times."""

from __future__ import annotations

import pytest

from stress.kill_and_fill import KINDS
from stress.workspace import make

ROUNDS = {"kill-tool": 3, "full-disk": 4, "many-runs": 1000}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return make(tmp_path_factory.mktemp("stress") / "project")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_and_nothing_passes_that_is_not_whole(here, kind):
    check, rounds = KINDS[kind]
    said = check(here, ROUNDS.get(kind, min(rounds, 2)))
    if said.startswith("SKIPPED"):
        pytest.skip(said)
