"""Output files that count: runs whose logs are equal and whose models differ are diagnosed."""

import json
import subprocess
import sys

import pytest

PROGRAM = """\
import json, pathlib, random, sys

out = pathlib.Path(sys.argv[1])
weights = [random.random() for _ in range(3)]
(out / "model.txt").write_text(repr(weights))
(out / "log.jsonl").write_text(json.dumps({"step": 0, "loss": 0.5}) + "\\n")
"""


@pytest.fixture
def diagnose(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)

    def run(*options):
        command = [sys.executable, "-m", "reprokit", "diagnose", "--json", *options]
        done = subprocess.run(
            [*command, "--", sys.executable, "train.py", "{run_dir}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return done, json.loads(done.stdout) if done.stdout.startswith("{") else {}

    return run


def test_the_line_that_makes_a_model_differ_is_found(diagnose):
    done, answer = diagnose("--output", "model.*")
    assert done.returncode == 1, done.stderr
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("unseeded_rng", 4)
    assert answer["divergence"]["metric"] == "output/model.txt"
    assert "--output 'model.*'" in answer["replay"][0]


def test_without_it_only_the_log_counts(diagnose):
    done, answer = diagnose("--budget", "3")
    assert (done.returncode, answer["divergence"]) == (0, None), done.stderr


def test_a_pattern_that_fits_no_file_is_an_error(diagnose):
    done, _ = diagnose("--output", "*.pt")
    assert done.returncode == 2
    assert "left no file that matches '*.pt'" in done.stderr
