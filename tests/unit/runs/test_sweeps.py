"""Records of sweeps that someone edited: refused as a whole, and no fault for the verbs that list them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reprokit.errors import ReportError
from reprokit.runs import sweeps

MEMBER = {"recipe": "train", "seed": 1, "inputs": "i", "identity": "d", "state": "complete"}


def written(runs_dir: Path, **changed: object) -> Path:
    folder = runs_dir / "sweeps" / "x"
    folder.mkdir(parents=True)
    members = [{**MEMBER, **changed}]
    (folder / "sweep.json").write_text(json.dumps({"schema": 1, "name": "x", "members": members}))
    return folder


@pytest.mark.parametrize(
    "changed",
    [
        {"attempts": "x"},
        {"attempts": [1]},
        {"attempts": float("inf")},
        {"attempts": True},
        {"settings": 5},
        {"settings": "abc"},
        {"settings": [5]},
        {"state": []},
        {"state": "done"},
        {"seed": True},
        {"seed": 1.5},
    ],
    ids=str,
)
def test_a_member_of_the_wrong_types_is_refused_and_the_verbs_that_list_sweeps_go_on(tmp_path, changed):
    folder = written(tmp_path, **changed)
    with pytest.raises(ReportError, match="not a record of a sweep"):
        sweeps.read(folder)
    assert list(sweeps.list_all(tmp_path)) == []


def test_a_member_that_says_the_least_is_read(tmp_path):
    [member] = sweeps.read(written(tmp_path))
    assert (member.seed, member.settings, member.attempts) == (1, (), 0)
