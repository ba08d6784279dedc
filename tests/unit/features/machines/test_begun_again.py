"""Which jobs may continue from a checkpoint when their engine begins them again."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.features.machines import on_this_machine
from reprokit.features.machines.member_job import MemberJob, write_job
from reprokit.features.machines.on_this_machine import goes_on_from_a_checkpoint
from reprokit.features.machines.requeued import next_of
from reprokit.harness import Request
from reprokit.harness.running.run_inputs import MIXED
from reprokit.project import Project

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(("surroundings", "goes_on"), [("sha256:1", True), (MIXED, False)])
def test_a_run_of_a_mixed_sweep_never_goes_on_from_what_another_kind_may_have_begun(
    tmp_path, monkeypatch, surroundings, goes_on
):
    monkeypatch.setattr(on_this_machine, "has_come_further", lambda *_args, **_more: True)
    job = MemberJob(recipe="cartpole_baseline", seed=1, stamped="s", surroundings=surroundings)
    file = tmp_path / "job.json"
    write_job(file, [job], Request(), project=Project.around(ROOT))
    assert goes_on_from_a_checkpoint(file) is goes_on


def test_a_job_that_began_no_run_yet_is_to_make_its_first(tmp_path):
    job = MemberJob(recipe="cartpole_baseline", seed=1, stamped="s")
    found = next_of(tmp_path / "job.json", job, project=Project.around(tmp_path))
    assert (found.job, found.point, found.over) == (job, None, False)
