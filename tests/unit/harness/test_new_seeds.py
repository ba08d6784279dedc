"""Finished runs of new seeds are used again where the judged pair had the same numbers before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.harness.sweeping.new_seeds import under_conditions_of
from reprokit.project import Project
from reprokit.records import run_json
from reprokit.runs.listing import key_of
from reprokit.runs.sweeps import MemberState, SweepMember
from reprokit.session import Session
from support.command_recipe import PROGRAM
from support.recorded_progress import RecordedProgress


def of_seed(repository, seed: int) -> Path:
    found = repository.root.glob("runs/train/*")
    return next(folder for folder in found if run_json.recorded(folder).seed == seed)


@pytest.mark.parametrize(("later", "state"), [("0.5", MemberState.COMPLETE), ("0.7", MemberState.WAITING)])
def test_a_run_with_another_seed_counts_where_a_file_elsewhere_is_as_it_was(
    repository, tmp_path, later, state
):
    elsewhere = tmp_path / "rate.txt"
    elsewhere.write_text("0.5")
    repository.write(
        train_py=PROGRAM.replace(
            "from settings import RATE", f"RATE = float(open({str(elsewhere)!r}).read())"
        )
    )
    repository.reproduce()
    member = SweepMember(
        recipe="train", settings=(), seed=4, state=MemberState.COMPLETE, run=key_of(of_seed(repository, 4))
    )
    elsewhere.write_text(later)
    judged = Path(repository.reproduce().runs[0])
    session = Session(project=Project.around(repository.root), progress=RecordedProgress())
    (found,) = under_conditions_of(judged, [member], session=session)
    assert found.state is state
