"""Settings of a sweep that change nothing are named, in real sweeps of a program of a moment."""

from __future__ import annotations

import json

import pytest

from reprokit.features.sweeps.statistics_html import sweep_to_html
from support.sweep_program import RECIPE, prepare, swept

VARIABLES = RECIPE.replace("seeds: [3, 4, 6]", 'env: {USED: "1", NOPE: "0"}\nseeds: [3, 4]')
PROGRAM = """\
import json, os, random, sys, time
seed, run_dir, used = int(sys.argv[1]), sys.argv[2], float(os.environ["USED"])
random.seed(seed)
begun = time.time()
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(4):
        record = {"step": step, "loss": random.random() * min(used, 3)}
        RECORD
        log.write(json.dumps(record) + "\\n")
"""
SEEDS = "with every seed (3 and 4), "


@pytest.fixture
def warned(repository):
    """The warnings of a sweep of the program whose records have something more."""

    def of(*settings, more="pass", program=PROGRAM):
        prepare(repository, program=program.replace("RECORD", more), recipe=VARIABLES)
        answer = swept(repository.root, settings=settings)
        assert answer.exit_code == 0
        return list(answer.warnings)

    return of


def test_a_variable_that_the_program_never_reads_is_named(warned):
    assert warned("env.NOPE=1,2") == [
        f"NOPE changes nothing: {SEEDS}the results of NOPE=1 and NOPE=2 are equal. Does the program read it?"
    ]


def test_beside_one_that_it_reads_the_idle_one_alone_is_named(warned):
    (told,) = warned("env.USED=1,2", "env.NOPE=1,2")
    assert told.startswith("NOPE changes nothing: ")


def test_two_settings_of_three_with_equal_results_are_named(warned):
    assert warned("env.USED=1,3,4") == [f"{SEEDS}the results of USED=3 and USED=4 are equal"]


def test_one_number_in_two_spellings_is_not_called_unread(warned):
    assert warned("env.USED=1,1.0") == [f"USED=1 and USED=1.0 are one number: {SEEDS}their results are equal"]


def test_settings_that_change_the_results_are_not_named(warned):
    assert warned("env.USED=1,2,3") == []
    assert warned() == []


def test_a_metric_that_only_repeats_the_setting_is_no_result(warned):
    (told,) = warned("env.NOPE=1,2", more='record["nope"] = float(os.environ["NOPE"])')
    assert "are equal, except for nope, which repeats what was set." in told


def test_of_one_record_a_number_that_is_not_the_setting_is_a_result(warned):
    once = PROGRAM.replace("range(4)", "range(1)").replace("* min(used, 3)", "")
    more = 'record["score"] = 10 * float(os.environ["NOPE"])'
    assert warned("env.NOPE=1,2", more=more, program=once) == []
    (told,) = warned("env.NOPE=1,2", more='record["nope"] = float(os.environ["NOPE"])', program=once)
    assert "except for nope" in told


def test_the_clock_is_no_result(warned):
    (told,) = warned("env.NOPE=1,2", more='time.sleep(0.05); record["time/elapsed_s"] = time.time() - begun')
    assert told.startswith("NOPE changes nothing")


def test_one_seed_that_differs_is_enough(warned):
    more = 'record["x"] = record["loss"] + (float(os.environ["NOPE"]) if seed == 4 else 0)'
    assert warned("env.NOPE=1,2", more=more) == []


def test_the_warning_is_on_the_page_too(repository):
    prepare(repository, program=PROGRAM.replace("RECORD", "pass"), recipe=VARIABLES)
    answer = swept(repository.root, settings=["env.NOPE=1,2"])
    assert "Warning: NOPE changes nothing" in sweep_to_html(answer, None, {})
    rows = json.loads(answer.path.read_text())["members"]
    assert [row["settings"] for row in rows] == [["env.NOPE=1"]] * 2 + [["env.NOPE=2"]] * 2
    assert "called" not in rows[0]
    assert [one.label for one in answer.members] == [
        "NOPE=1 · s3",
        "NOPE=1 · s4",
        "NOPE=2 · s3",
        "NOPE=2 · s4",
    ]
