"""Metrics of the wall clock that a library writes: held, left out, and never silently."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

LIBRARY = """
    import json, time
    from datetime import datetime

    class Logger:
        def __init__(self, folder, natively=False):
            self.file, self.natively = open(folder / "metrics.jsonl", "w"), natively
            self.began = self.now()
        def now(self):
            return datetime.now().timestamp() if self.natively else time.time()
        def write(self, step, loss):
            took = self.now() - self.began
            record = {"step": step, "train/loss": loss, "time/fps": int(step / took)}
            record["time/time_elapsed"] = took
            self.file.write(json.dumps(record) + "\\n")
            self.file.flush()
"""
PROGRAM = """
    import random, sys, time
    from pathlib import Path
    from somelogger import Logger

    generator = random.Random({seed})
    logger = Logger(Path(sys.argv[1]), natively={natively})
    for step in range(1000, 5000, 1000):
        time.sleep(0.1)
        logger.write(step, generator.random())
"""


def reprokit(tmp_path, verb, *options, seed="7", natively=False):
    """Run a verb on a program whose installed library reads the clock."""
    packages = tmp_path / "env" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "somelogger.py").write_text(textwrap.dedent(LIBRARY))
    text = textwrap.dedent(PROGRAM).format(seed=seed, natively=natively)
    (tmp_path / "train.py").write_text(text)
    command = [sys.executable, "-m", "reprokit", verb, "--json", "--reports-dir", str(tmp_path / "reports")]
    if verb == "reproduce":
        command += ["--runs-dir", str(tmp_path / "runs")]
    done = subprocess.run(
        [*command, *options, "--", sys.executable, "train.py", "{run_dir}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{packages}"},
    )
    assert done.stdout.startswith("{"), done.stderr
    return done.returncode, json.loads(done.stdout), text


def line_of(text, wanted):
    return next(number for number, line in enumerate(text.splitlines(), 1) if wanted in line)


def test_reproduce_says_that_only_the_clock_differs_and_by_which_option_it_is_left_out(tmp_path):
    code, report, _ = reprokit(tmp_path, "reproduce")
    assert (code, report["verdict"]) == (1, "NONDETERMINISTIC")
    assert "2 of 3 metrics differ, all under time/" in report["sentence"]
    assert "time/fps (rate) and time/time_elapsed (duration); by their values they" in report["sentence"]
    assert "--ignore-metric 'time/*' leaves them out" in report["sentence"]


def test_reproduce_says_nothing_of_the_clock_where_a_loss_differs_too(tmp_path):
    code, report, _ = reprokit(tmp_path, "reproduce", seed="")
    assert code == 1
    assert "ignore" not in report["sentence"]


@pytest.mark.slow
def test_the_line_whose_library_reads_the_clock_is_named(tmp_path):
    code, answer, text = reprokit(tmp_path, "diagnose")
    assert code == 1
    cause = answer["cause"]
    assert (cause["category"], cause["confidence"]) == ("clock", "high")
    assert cause["line"] in {line_of(text, "Logger(Path"), line_of(text, "logger.write")}
    assert "somelogger.py" in cause["what"]


@pytest.mark.sample(1)
@pytest.mark.parametrize("natively", [False, True])
def test_what_differs_besides_the_clock_is_found_and_the_clock_is_left_out_aloud(tmp_path, natively):
    code, answer, text = reprokit(tmp_path, "diagnose", seed="", natively=natively)
    assert (code, answer["cause"]["category"]) == (1, "unseeded_rng")
    assert answer["cause"]["line"] == line_of(text, "random.Random(")
    if natively:
        assert any("--ignore-metric 'time/*'" in one for one in answer["known"])


def test_a_clock_that_cannot_be_held_is_told_from_its_numbers_and_never_called_repeatable(tmp_path):
    code, answer, _ = reprokit(tmp_path, "diagnose", natively=True)
    assert (code, answer["verdict"]) == (1, "NONDETERMINISTIC")
    assert (answer["cause"]["category"], answer["cause"]["confidence"]) == ("clock", "medium")
    assert "--ignore-metric 'time/*'" in answer["cause"]["fix"]
