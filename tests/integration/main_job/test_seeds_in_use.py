"""A trainer that derives its seeds and then resets its environments with others, run for real."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_environments_that_are_reset_with_another_seed_fail_their_row_though_the_runs_agree(study):
    study.change(study.playing, "env.reset(seed=seed, options", "env.reset(seed=3, options")
    answer = study.reproduce()
    assert answer.report["verdict"] == "REGRESSION", answer.err
    row = answer.row("seeded")
    assert row["status"] == "FAILED"
    assert "environment[0] trained with the seed 3, not with the seed derived for it" in row["reason"]
    assert "env.reset(seed=…)" in row["remedy"]
