"""The fixture ``golden_run``: one line in a stranger's test, and no empty result passes."""

from __future__ import annotations

import json

import pytest

pytest_plugins = ["pytester"]

OPTIONS = ("-p", "no:reprokit", "-p", "reprokit.pytest_plugin", "-p", "no:cacheprovider")
PROGRAM = """\
import argparse, json, pathlib, random, time

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
parser.add_argument("--logdir")
parser.add_argument("--clock", action="store_true")
parser.add_argument("--fail", action="store_true")
options = parser.parse_args()
generator = random.Random(options.seed)
records = [{"step": step, "loss": RATE / (step + 1) + generator.random()} for step in range(3)]
for record in records:
    if options.clock:
        record["time/fps"] = time.perf_counter_ns() / 7
    print(" ".join(f"{name} {value!r}" for name, value in record.items()))
if options.logdir:
    text = "".join(json.dumps(record) + "\\n" for record in records)
    (pathlib.Path(options.logdir) / "metrics.jsonl").write_text(text)
if options.fail:
    raise SystemExit("the loss is not what it was")
"""


@pytest.fixture
def suite(pytester: pytest.Pytester):
    """Run one test around a program; ``rate`` is the code that may change."""

    def run(text: str, *options: str, rate: float = 0.5) -> pytest.RunResult:
        pytester.path.joinpath("train.py").write_text(PROGRAM.replace("RATE", repr(rate)))
        pytester.path.joinpath("test_training.py").write_text(text)
        return pytester.runpytest_subprocess(*OPTIONS, *options)

    return run


LINE = """
def test_ppo(golden_run):
    golden_run("python train.py --seed 1")
"""


def test_the_first_run_writes_a_golden_and_the_next_passes(suite, pytester):
    first = suite(LINE)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["*NO_GOLDEN: there was no golden, so one was written*"])
    assert (pytester.path / "test_training" / "test_ppo.jsonl").read_text().count("loss") == 3
    suite(LINE).assert_outcomes(passed=1)


def test_other_numbers_fail_with_the_first_that_differs(suite):
    suite(LINE)
    result = suite(LINE, rate=0.25)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*REGRESSION: the metrics differ*", "DIFFERS: first at *metric loss"])
    result.stdout.fnmatch_lines(["First divergence", "*expected *", "*actual *"])


def test_a_golden_is_written_again_when_asked(suite):
    suite(LINE)
    suite(LINE, "--golden-update", rate=0.25).assert_outcomes(failed=1)
    suite(LINE, rate=0.25).assert_outcomes(passed=1)


def test_each_seed_has_a_golden_of_its_own(suite, pytester):
    text = """
import pytest

@pytest.mark.parametrize("seed", [1, 2])
def test_ppo(golden_run, seed):
    golden_run("python train.py --seed {seed} --logdir {run_dir}")
"""
    suite(text)
    suite(text).assert_outcomes(passed=2)
    goldens = [(pytester.path / "test_training" / f"test_ppo[{seed}].jsonl").read_text() for seed in (1, 2)]
    assert goldens[0] != goldens[1]


def test_a_program_that_does_not_repeat_gets_no_golden(suite, pytester):
    result = suite("def test_ppo(golden_run):\n    golden_run('python train.py --logdir {run_dir}')\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*NONDETERMINISTIC: two runs of the command differ*"])
    assert not (pytester.path / "test_training").exists()


CACHED = """
import pathlib, subprocess
pathlib.Path("cached.py").write_text(
    "import pathlib, random\\n"
    "kept = pathlib.Path('kept.txt')\\n"
    "if not kept.exists(): kept.write_text(repr(random.random()))\\n"
    "for _ in range(3): print('loss', kept.read_text())\\n"
)

def test_ppo(golden_run):
    golden_run("python cached.py")
"""


def test_what_the_first_run_left_for_the_second_is_named(suite, pytester):
    named = "*Between the runs 1 file of the tree appeared or changed*: kept.txt.*"
    first = suite(CACHED)
    first.assert_outcomes(failed=1)
    first.stdout.fnmatch_lines(["NO_GOLDEN: *", named])
    (pytester.path / "kept.txt").unlink()  # as in a new clone
    other = suite(CACHED)
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["REGRESSION: *", named])


def test_a_golden_that_later_runs_do_not_repeat_is_no_regression(suite):
    suite(LINE)
    result = suite(LINE.replace(" --seed 1", ""))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*NONDETERMINISTIC*"])
    result.stdout.no_fnmatch_line("*REGRESSION*")


def test_a_clock_is_named_and_left_out_on_request(suite, pytester):
    command = "python train.py --seed 1 --clock --logdir {run_dir}"
    result = suite(f"def test_ppo(golden_run):\n    golden_run('{command}')\n")
    result.stdout.fnmatch_lines(["*NONDETERMINISTIC*", "Clocks and memory", "*time/fps*"])
    text = f"def test_ppo(golden_run):\n    golden_run('{command}', ignore=['time/*'])\n"
    suite(text)
    suite(text).assert_outcomes(passed=1)
    golden = (pytester.path / "test_training" / "test_ppo.jsonl").read_text().splitlines()
    assert [sorted(json.loads(line)) for line in golden] == [["loss", "step"]] * 3


#: Arguments of ``golden_run`` → what is told.
NOTHING = {
    "'python train.py --seed 1 --fail'": "NOT_RUN: exit code 1: *",
    "'python nothing.py'": "NOT_RUN: exit code 2: *",
    "'no-such-program'": "NOT_RUN: no-such-program: *",
    "['python', '-c', 'pass']": "*logged no metric into {run_dir}, and printed no number*",
    "'python train.py --seed 1', ignore=['*']": "*logged no metric into {run_dir}*",
    "'python train.py --seed {seed}'": "*the command has {seed}, and the test has none*",
    "'python train.py', seed=1": "*a seed was given, and the command has no {seed}*",
    "'python train.py --seed 1', ignore=['lose']": "*no metric matches 'lose'*",
    "['python', '-c', 'import time; time.sleep(60)'], timeout_s=0.5": "NOT_RUN: it did not end in 0.5 s*",
    "''": "*the command is empty*",
}


def test_nothing_passes_that_did_not_run_or_logged_nothing(suite, pytester):
    tests = [f"def test_{at}(golden_run):\n    golden_run({words})\n" for at, words in enumerate(NOTHING)]
    for _ in range(2):  # nor against what the first left
        result = suite("\n".join(tests))
        result.assert_outcomes(failed=len(NOTHING))
        for told in NOTHING.values():
            result.stdout.fnmatch_lines([told])
    assert not (pytester.path / "test_training").exists()


PRINTS_ONCE = """
def test_result(golden_run):
    golden_run(["python", "-c", "print('accuracy', VALUE)"])
"""


def test_one_result_that_is_printed_once_is_compared(suite):
    suite(PRINTS_ONCE.replace("VALUE", "0.25")).assert_outcomes(failed=1)
    suite(PRINTS_ONCE.replace("VALUE", "0.25")).assert_outcomes(passed=1)
    other = suite(PRINTS_ONCE.replace("VALUE", "0.26"))
    other.assert_outcomes(failed=1)
    other.stdout.fnmatch_lines(["*REGRESSION*"])


def test_what_is_asked_for_wrongly_shows_the_line_of_the_test_and_no_code_of_the_tool(suite):
    result = suite("""
def test_nothing_is_logged(golden_run):
    golden_run(["python", "-c", "print('hello')"])

def test_a_metric_is_misspelt(reprokit_golden):
    reprokit_golden.check([{"step": 1, "loss": 2.0}], tolerances={"lss": {"rtol": 0.1}})
""")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*tell the program where to log: *--out {run_dir}*"])
    result.stdout.fnmatch_lines(["*tolerances: no metric matches 'lss'*the nearest names: 'loss'*"])
    result.stdout.no_fnmatch_line("*command_run.py*")
    result.stdout.no_fnmatch_line("*golden_file.py*")
