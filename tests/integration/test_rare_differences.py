"""Ten programs that differ now and then are found under stress; their clean twins are not accused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RARE = Path(__file__).parent / "rare"
pytestmark = pytest.mark.timeout(3600)  # up to 80 runs, some of which wait
NAMES = sorted(path.stem for path in (RARE / "differs").glob("*.py"))


@pytest.fixture
def answer(tmp_path):
    def run(program, *words):
        command = [
            sys.executable,
            "-m",
            "reprokit",
            *words,
            "--json",
            "--",
            sys.executable,
            str(program),
            "{run_dir}",
        ]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
            env={**os.environ, "REPROKIT_CACHE": str(tmp_path / "cache")},
        )
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return run


def test_there_are_ten_programs_and_each_has_a_clean_twin():
    assert len(NAMES) == 10
    assert sorted(path.stem for path in (RARE / "clean").glob("*.py")) == NAMES


def test_runs_under_stress_say_what_was_done_to_each_and_are_never_passed(answer, tmp_path):
    code, report = answer(RARE / "differs" / "as_completed.py", "reproduce", "--stress", "--repeats", "2")
    stress = report["stress"]
    assert (code, report["verdict"]) == ((1, "NONDETERMINISTIC") if stress["differ"] else (4, "UNJUDGED"))
    assert stress["runs"] == 2
    told = [json.loads(path.read_text())["stressed"] for path in sorted(tmp_path.glob("runs/*/*/run.json"))]
    assert [one["number"] for one in told] == [1, 2]
    assert len({one["seed"] for one in told}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_seldom_differs_is_found(answer, name):
    code, report = answer(RARE / "differs" / f"{name}.py", "reproduce", "--stress", "--repeats", "60")
    assert (code, report["verdict"]) == (1, "NONDETERMINISTIC")
    low, high = report["stress"]["interval"]
    assert 0 < low < report["stress"]["differ"] / 60 < high


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_its_clean_twin_is_not_accused(answer, name):
    code, report = answer(RARE / "clean" / f"{name}.py", "reproduce", "--stress", "--repeats", "30")
    assert (code, report["verdict"], report["stress"]["differ"]) == (4, "UNJUDGED", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "category"),
    [("hash_order", "hash_order"), ("clock_branch", "clock"), ("as_completed", "concurrency")],
)
def test_the_line_of_a_rare_difference_is_named(answer, name, category):
    program = RARE / "differs" / f"{name}.py"
    code, found = answer(program, "diagnose", "--stress", "--repeats", "80", "--budget", "20m")
    assert (code, found["cause"]["category"]) == (1, category)
    assert found["cause"]["file"].endswith(f"{name}.py")
