"""An answer names the project's own files, not their copies in a run's folder or in a container."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from reprokit.diagnosis import Cause
from reprokit.harness.diagnosing.diagnosis import Diagnosis
from reprokit.harness.diagnosing.paths_of_copies import in_source

RECIPE = SimpleNamespace(
    trainer=Path("/home/me/recipes/trainers/dqn.py"),
    parts=(SimpleNamespace(name="sum_tree.py", path=Path("/home/me/recipes/parts/sum_tree.py")),),
)


@pytest.mark.parametrize("copies", ["/tmp/reports/x/first/source", "/mnt/reprokit/recipes"])
@pytest.mark.parametrize("name", ["trainers/dqn.py", "parts/sum_tree.py"])
def test_the_copy_of_a_trainer_or_part_is_named_by_its_source(copies, name):
    place = f"{copies}/{name}"
    cause = Cause(
        category="clock", file=place, line=3, function="f", what="time.time", fix="", confidence="high"
    )
    found = Diagnosis(
        verdict="NONDETERMINISTIC", causes=(cause,), known=(f"{place}:3 draws",), folder=Path("/f"), runs=2
    )
    told = in_source(found, RECIPE)
    assert told.causes[0].file == f"/home/me/recipes/{name}"
    assert told.known == (f"/home/me/recipes/{name}:3 draws",)


def test_another_file_keeps_its_path():
    found = Diagnosis(
        verdict="REPEATABLE",
        known=("/x/source/parts/sum_tree.pyc, /x/source/parts/other.py",),
        folder=Path("/f"),
        runs=2,
    )
    assert in_source(found, RECIPE).known == found.known
