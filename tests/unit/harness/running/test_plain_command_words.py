"""What can be told from the words of a plain command is told before it runs."""

from __future__ import annotations

import sys

import pytest

from reprokit.errors import UsageError
from reprokit.harness import Request, reproduce_command
from reprokit.session import Session


def test_a_misspelt_placeholder_ends_it_before_anything_is_run(here, told):
    with pytest.raises(UsageError, match="run_dir"):
        reproduce_command(
            [sys.executable, "t.py", "{rundir}"], Request(), session=Session(project=here, progress=told)
        )
    assert not here.runs_dir.exists()


def test_what_no_argument_uses_is_said_before_the_training(here, told):
    reproduce_command(
        [sys.executable, "-c", ""], Request(repeats=1), session=Session(project=here, progress=told)
    )
    said = [one for one in told.notes if one.startswith("no argument uses")]
    assert [one.split(":")[0] for one in said] == ["no argument uses {seed}", "no argument uses {run_dir}"]
