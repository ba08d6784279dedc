"""A program without a recipe: its own Python, its own logs, the same answers."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import argparse, json, os, pathlib, random
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
parser.add_argument("--logdir", type=pathlib.Path)
options = parser.parse_args()
{seeding}
with open(options.logdir / "metrics.jsonl", "w") as log:
    for step in range(50):
        log.write(json.dumps({{"step": step, "loss": random.random(){more}}}) + "\\n")
"""


@pytest.fixture
def program(tmp_path: Path):
    def write(*, seeding: str = "random.seed(options.seed)", more: str = "") -> None:
        (tmp_path / "train.py").write_text(textwrap.dedent(PROGRAM).format(seeding=seeding, more=more))

    return write


@pytest.fixture
def reproduce(tmp_path: Path, study_at):
    study = study_at(tmp_path)

    def start(*options: str):
        return study.reprokit(
            "reproduce",
            "--seed",
            "7",
            "--json",
            *options,
            "--",
            sys.executable,
            "train.py",
            "--seed",
            "{seed}",
            "--logdir",
            "{run_dir}",
        )

    return start


def test_a_seeded_program_is_repeatable(program, reproduce):
    program()
    answer = reproduce()
    assert (answer.code, answer.report["verdict"]) == (0, "REPEATABLE"), answer.out


def test_an_unseeded_program_is_nondeterministic_from_its_first_record(program, reproduce):
    program(seeding="")
    answer = reproduce()
    assert (answer.code, answer.report["verdict"]) == (1, "NONDETERMINISTIC"), answer.out
    assert answer.report["divergence"]["record"] == 0
    assert answer.report["divergence"]["metric"] == "loss"


def test_nothing_is_left_out_unless_asked_for_and_then_it_is_a_row(program, reproduce):
    program(more=', "time/fps": os.getpid()')
    assert reproduce().report["verdict"] == "NONDETERMINISTIC"
    answer = reproduce("--ignore-metric", "time/*")
    assert (answer.code, answer.report["verdict"]) == (0, "REPEATABLE"), answer.out
    assert any("time/fps" in row["reason"] + row["title"] for row in answer.report["checks"])


def test_a_program_that_logs_nothing_cannot_be_judged(tmp_path, reproduce):
    (tmp_path / "train.py").write_text("print('done')\n")
    answer = reproduce()
    assert (answer.code, answer.report["verdict"]) == (4, "UNJUDGED"), answer.out


def test_ignoring_every_metric_is_never_a_pass(program, reproduce):
    program()
    assert reproduce("--ignore-metric", "*").code == 4


def test_a_missing_program_is_not_run(tmp_path, study_at):
    study = study_at(tmp_path)
    answer = study.reprokit("reproduce", "--seed", "7", "--json", "--", "no-such-program-anywhere")
    assert (answer.code, answer.report["verdict"]) == (3, "NOT_RUN")
    assert answer.report["not_run"]["outcome"] == "command_missing"


def test_a_recipe_and_a_command_together_are_wrong_usage(tmp_path, study_at):
    study = study_at(tmp_path)
    answer = study.reprokit("reproduce", "cartpole_baseline", "--", "python", "train.py")
    assert answer.code == 2


@pytest.mark.slow
def test_a_report_that_left_metrics_out_can_be_verified_as_it_was_asked_for(
    program, reproduce, tmp_path, study_at
):
    program(more=', "time/fps": os.getpid()')
    assert reproduce("--ignore-metric", "time/*").code == 0
    report = next((tmp_path / "reports").rglob("report.json")).parent
    checked = study_at(tmp_path).reprokit("report", "verify", str(report))
    assert checked.code == 0, checked.out


def test_metrics_behind_a_link_out_of_the_run_folder_never_count_as_two_runs(tmp_path, reproduce):
    (tmp_path / "train.py").write_text(
        textwrap.dedent("""
        import json, os, random, sys
        shared = os.path.abspath("shared.jsonl")
        open(shared, "w").write(json.dumps({"step": 0, "loss": random.random()}) + "\\n")
        os.symlink(shared, os.path.join(sys.argv[-1], "metrics.jsonl"))
        """)
    )
    answer = reproduce()
    assert answer.code != 0
    assert answer.report["verdict"] not in {"REPEATABLE", "REPRODUCED"}


def test_a_link_within_the_run_folder_does_no_harm(tmp_path, reproduce, program):
    program(more="")
    text = (tmp_path / "train.py").read_text()
    (tmp_path / "train.py").write_text(
        text + "\n(options.logdir / 'logs').mkdir()\n(options.logdir / 'logs' / 'latest').symlink_to('..')\n"
    )
    answer = reproduce()
    assert (answer.code, answer.report["verdict"]) == (0, "REPEATABLE"), answer.out


@pytest.mark.parametrize("folder", ["checkpoints"])
def test_metrics_in_any_folder_below_the_run_are_compared(tmp_path, reproduce, program, folder):
    program(seeding="")
    text = (
        (tmp_path / "train.py")
        .read_text()
        .replace(
            "with open(options.logdir /",
            f"(options.logdir / {folder!r}).mkdir(parents=True)\nwith open(options.logdir / {folder!r} /",
        )
    )
    (tmp_path / "train.py").write_text(text)
    answer = reproduce()
    assert (answer.code, answer.report["verdict"]) == (1, "NONDETERMINISTIC"), answer.out
