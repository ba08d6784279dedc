"""Finished runs of new seeds are used again where the judged pair had the same numbers before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprokit.harness.judging.earlier_runs import earlier_runs
from reprokit.records import run_json
from support.command_recipe import PROGRAM


def of_seed(repository, seed: int) -> Path:
    found = repository.root.glob("runs/train/*")
    return next(folder for folder in found if run_json.recorded(folder).seed == seed)


@pytest.mark.parametrize(("later", "counts"), [("0.5", True), ("0.7", False)])
def test_a_run_with_another_seed_counts_where_a_file_elsewhere_is_as_it_was(
    repository, tmp_path, later, counts
):
    elsewhere = tmp_path / "rate.txt"
    elsewhere.write_text("0.5")
    repository.write(
        train_py=PROGRAM.replace(
            "from settings import RATE", f"RATE = float(open({str(elsewhere)!r}).read())"
        )
    )
    repository.reproduce()
    other = of_seed(repository, 4)
    elsewhere.write_text(later)
    judged = Path(repository.reproduce().runs[0])
    assert earlier_runs(judged).show_same_conditions(other) is counts
