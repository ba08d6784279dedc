"""Programs that nobody here wrote become recipes with a gate, which answers rightly for a fault of each kind.

All of them are slow: `make test-all`. Every test run holds the verbs themselves on smaller programs
(`tests/integration/test_verbs_of_command_recipes.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import logs_read
from own_recipes import BOTH, page, play
from real_programs import CannotBeMadeError, programs

RECIPES = [one for one in programs() if one.recipe is not None]
OTHERS = {"cleanrl_dqn", "hf_trainer", "keras", "lightgbm", "lightning", "sklearn_forest", "torchrun_gloo"}


def _cases():
    """Some in both environments, the others in a virtual environment."""
    for program in RECIPES:
        for backend in ("local", "docker") if program.name in BOTH else ("local",):
            marks = [pytest.mark.timeout(7200), pytest.mark.slow]
            marks += [pytest.mark.engine] if backend == "docker" else []
            yield pytest.param(program, backend, id=f"{program.name}-{backend}", marks=marks)


@pytest.mark.parametrize(("program", "backend"), list(_cases()))
def test_a_program_gets_a_gate_that_is_right_about_it(program, backend, tmp_path):
    try:
        play(program, tmp_path, backend=backend)
    except CannotBeMadeError as problem:
        pytest.skip(f"the files of {program.name} cannot be made here: {problem}")


def test_the_programs_of_both_environments_and_the_others_are_there():
    assert set(BOTH) | OTHERS == {one.name for one in RECIPES}


def test_a_row_of_the_table_says_when_the_first_verdict_was_there():
    verbs = ("init", "reproduce", "golden promote", "verify", "reproduce", "bisect", "reproduce")
    told = [{"typed": verb, "seconds": 60.0, "cpu": 30.0, "code": 0} for verb in verbs]
    row = {"program": "mine", "backend": "local", "fresh": True, "machine": "a CPU", "cores": 2, "load": 1.0}
    row["day"] = "2026-11-22"
    written = page([{**row, "told": told}, {**row, "program": "wronged", "wrong": "an answer"}])
    assert "wronged" not in written
    assert (
        "| mine | virtual environment | 8 | 1.0 | 2.0 | 1.0 | 4.0 | 1.0 | 1.0 | 1.0 | 2026-11-22 |" in written
    )
    again = page([{**row, "program": "another", "told": told}], before=written)
    assert again.index("| another |") < again.index("| mine |")
    assert page([{**row, "told": told, "day": "2026-11-23"}], before=again).count("| mine |") == 1


def test_a_row_of_the_table_of_logs_stays_until_its_program_is_measured_again():
    told = {"metrics": "progress.csv (csv)", "repeats": "two runs agree"}
    first = {one.name: logs_read.row(one, told) for one in RECIPES[:2]}
    written = logs_read.page(first, before="")
    again = {RECIPES[0].name: logs_read.row(RECIPES[0], {"metrics": "a | b"})}
    lines = logs_read.page(again, before=written).splitlines()[-2:]
    assert "| a \\| b | – |" in lines[0]
    assert "| progress.csv (csv) | two runs agree |" in lines[1]
