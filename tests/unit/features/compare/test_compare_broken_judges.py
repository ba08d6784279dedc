"""Judges of two sides with one rule broken each: planted pairs of sides show every one of them."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import adapters, runs
from reprokit.core.records import Outcome
from reprokit.features.compare import judge
from reprokit.features.compare.answer import Word
from reprokit.features.compare.judge import Selected, judged
from reprokit.features.compare.sentences import TOLD_OF_NAMES
from reprokit.harness.running.start_command import run_command
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session
from support.recorded_progress import RecordedProgress

PROGRAM = """\
import json, math, os, sys
value = 0.3
with open(f"{{sys.argv[2]}}/log.jsonl", "w") as log:
    for step in range({records}):
        value += 0.1
        log.write(json.dumps({{"step": step, **dict({metrics})}}) + "\\n")
sys.exit({code})
"""
PROGRAMS = {
    "one": {},
    "same": {},
    "last_bit": {"metrics": "loss=math.nextafter(value, 9) if step == 3 else value"},
    "one_more": {"metrics": "loss=value, other=1.5"},
    "shorter": {"records": 3},
    "nan": {"metrics": "loss=math.nan"},
    "renamed": {"metrics": "cost=value"},
    "drifting": {"metrics": "loss=value, noise=int.from_bytes(os.urandom(4))"},
    "failing": {"code": 1},
}
#: Program of b → the answer, where a is ``one``; None where it did not run.
EXPECTED = {
    "same": Word.EQUAL,
    "last_bit": Word.DIFFERENT,
    "one_more": Word.DIFFERENT,
    "shorter": Word.DIFFERENT,
    "nan": Word.UNJUDGED,
    "renamed": Word.UNJUDGED,
    "drifting": Word.UNJUDGED,
    "failing": None,
    "touched": Word.UNJUDGED,
    "one": Word.UNJUDGED,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, tuple[Path, ...]]:
    """The two runs of each program; ``touched`` was changed after its end."""
    place = tmp_path_factory.mktemp("sides")
    session = Session(project=Project.around(place), progress=RecordedProgress())
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for name, how in PROGRAMS.items():
            text = PROGRAM.format(**{"records": 5, "metrics": "loss=value", "code": 0, **how})
            (place / f"{name}.py").write_text(text)
            command = (sys.executable, f"{name}.py", "{seed}", "{run_dir}")
            found[name] = run_command(command, Request(), session=session)
    found["touched"] = tuple(
        Path(shutil.copytree(run, run.parent.parent / "plain-touched" / run.name)) for run in found["same"]
    )
    log = found["touched"][0] / "log.jsonl"
    log.write_text(log.read_text().replace("0.4", "0.41"))
    return found


def wrong(made) -> list[str]:
    """The pairs on which the judge says something else than what is planted."""
    return [
        name
        for name, expected in EXPECTED.items()
        if judged({"a": made["one"], "b": made[name]}, selected=Selected()).answer is not expected
    ]


def test_the_real_judge_is_right_about_every_pair(made):
    assert wrong(made) == []


def _compares(patch, change):
    real = adapters.compare_paths

    def compare_paths(*paths, **how):
        found, pairs = real(*paths, **how)
        return change(found), pairs

    patch.setattr(adapters, "compare_paths", compare_paths)


def takes_every_comparison_for_identical(patch):
    _compares(patch, lambda found: replace(found, identical=True, divergence=None))


def takes_another_number_of_records_for_none(patch):
    _compares(
        patch,
        lambda found: replace(found, identical=found.identical or found.records_compared < 5),
    )


def grants_a_tolerance(patch):
    small = 1e-9

    def change(found):
        far = [one for one in found.per_metric.values() if (one.max_abs_error or 0.0) > small]
        named = any(one.severity != "warning" for one in found.problems)
        return found if far or named else replace(found, identical=True)

    _compares(patch, change)


def leaves_out_metrics_of_one_side(patch):
    def change(found):
        kept = tuple(one for one in found.problems if one.kind not in TOLD_OF_NAMES)
        return replace(found, problems=kept, identical=found.identical or not kept)

    _compares(patch, change)


def does_not_ask_whether_a_side_repeats(patch):
    patch.setattr(judge, "_must_repeat", lambda *_: None)


def does_not_ask_whether_runs_are_finished_and_apart(patch):
    patch.setattr(judge, "_must_be_four", lambda *_: None)


def believes_that_some_metric_is_common(patch):
    patch.setattr(judge, "_common_metrics", lambda *_: {"loss"})


def takes_a_program_that_failed_for_one_that_ran(patch):
    real = runs.read

    def read(folder, **how):
        found = real(folder, **how)
        return replace(found, record=found.record._replace(outcome=Outcome.COMPLETED))

    patch.setattr(judge.runs, "read", read)


BROKEN = (
    takes_every_comparison_for_identical,
    takes_another_number_of_records_for_none,
    grants_a_tolerance,
    leaves_out_metrics_of_one_side,
    does_not_ask_whether_a_side_repeats,
    does_not_ask_whether_runs_are_finished_and_apart,
    believes_that_some_metric_is_common,
    takes_a_program_that_failed_for_one_that_ran,
)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda one: one.__name__)
def test_a_broken_judge_is_wrong_about_some_pair(broken, made, monkeypatch):
    broken(monkeypatch)
    assert wrong(made)
