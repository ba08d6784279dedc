"""`reprokit diagnose` where the cause lies behind a call into a library that no recorded value explains."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

#: A library: chance and threads that no line of Python tells of.
LIBRARY = """
import _random, threading, time
from multiprocessing.pool import ThreadPool

class Model:
    def __init__(self, n_jobs=1, seed=0):
        self.n_jobs, self.weights = n_jobs, None

    def fit(self, values):
        self.weights = [value * _random.Random().random() for value in values]
        return self

    def total(self, values):
        found, lock = [0.0], threading.Lock()
        def add(value):
            time.sleep(0.0003)
            with lock:
                found[0] = 0.9 * found[0] + value
        with ThreadPool(self.n_jobs) as pool:
            for one in [pool.apply_async(add, (value,)) for value in values]:
                one.get()
        return found[0]

def buckets(words):
    return [hash(word) % 1000 / 7 for word in words]

class Part:
    def __init__(self, value):
        self.value = value

def parts(values):
    return [part.value for part in {Part(value) for value in values}]

def draw(n):
    return [_random.Random().random() for _ in range(n)]
"""
HEAD = """
import json, sys
import numpy as np
import library
"""
TAIL = """
    with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
        for step, one in enumerate(used):
            out.write(json.dumps({"step": step, "loss": float(one)}) + "\\n")
"""


@pytest.fixture
def diagnose(tmp_path):
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "library.py").write_text(LIBRARY)

    def run(body, *, before="", code=1):
        """The answer for a program, and a function that finds its lines."""
        body = textwrap.indent(textwrap.dedent(body), "    ")
        source = f"{HEAD}{textwrap.dedent(before)}\nif __name__ == '__main__':\n{body}{TAIL}"
        (tmp_path / "train.py").write_text(source)
        command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--reports-dir", "reports", "--"]
        done = subprocess.run(
            [*command, sys.executable, "train.py", "{run_dir}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
            env={**os.environ, "PYTHONPATH": str(packages)},
        )
        assert done.returncode == code, done.stderr
        lines = source.splitlines()
        return json.loads(done.stdout), lambda text: next(
            number for number, line in enumerate(lines, 1) if text in line
        )

    return run


def test_of_two_calls_that_give_something_else_the_one_that_reaches_a_number_is_named(diagnose):
    answer, line_of = diagnose(
        """
        name = str(library.draw(1))
        model = library.Model()
        model.fit([1.0, 2.0])
        used = [sum(model.weights), 3.0]
        """
    )
    assert (answer["cause"]["line"], answer["cause"]["category"]) == (line_of("model.fit"), "unknown")
    assert answer["cause"]["confidence"] == "high"
    assert "library.Model.fit" in answer["cause"]["what"]
    assert any(f":{line_of('library.draw')}" in one["what"] for one in answer["ruled_out"])


@pytest.mark.slow
def test_threads_that_a_library_makes_are_the_cause_and_its_own_parameter_the_fix(diagnose):
    answer, line_of = diagnose(
        """
        values = [float(k * k % 97) for k in range(200)]
        model = library.Model(n_jobs=4)
        used = [model.total(values)]
        """
    )
    assert (answer["cause"]["category"], answer["cause"]["line"]) == ("concurrency", line_of("model.total("))
    assert (answer["cause"]["fix"], answer["cause"]["confidence"]) == ("n_jobs=1", "high")


@pytest.mark.slow
def test_a_call_in_worker_processes_is_named_and_not_the_one_that_waits_for_them(diagnose):
    answer, line_of = diagnose(
        """
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            found = pool.map(work, range(4))
        used = [sum(one) for one in zip(*found)]
        """,
        before="""
        import multiprocessing
        def work(number):
            drawn = library.draw(3)
            return [number + one for one in drawn]
        """,
    )
    assert answer["cause"]["line"] == line_of("library.draw(3)")
    assert answer["cause"]["confidence"] == "high"


WORKERS = """
import multiprocessing, time
def work(number):
    {seed}time.sleep(0.002)
    return float(np.random.normal())
"""
POOL = """
np.random.seed(0)
with multiprocessing.get_context("fork").Pool(4) as pool:
    used = [one for one in pool.map(work, range(64), chunksize=4)]
"""


@pytest.mark.slow
def test_workers_that_draw_from_a_generator_they_inherit_are_no_generator_without_a_seed(diagnose):
    answer, line_of = diagnose(POOL, before=WORKERS.format(seed=""))
    assert answer["cause"]["category"] == "concurrency"
    assert answer["cause"]["line"] in {line_of("pool.map("), line_of("np.random.normal()")}


@pytest.mark.slow
def test_workers_that_seed_each_task_are_repeatable(diagnose):
    answer, _ = diagnose(POOL, before=WORKERS.format(seed="np.random.seed(number); "), code=0)
    assert answer["cause"] is None


@pytest.mark.slow
def test_calls_that_only_together_decide_a_number_are_all_named(diagnose):
    answer, line_of = diagnose(
        """
        one = library.draw(1)[0]
        other = library.draw(2)[1]
        used = [one + other]
        """
    )
    lines = [one["line"] for one in answer["causes"]]
    assert lines == [line_of("library.draw(1)"), line_of("library.draw(2)")]


def test_a_call_that_writes_the_numbers_itself_is_named_and_nothing_is_proven(diagnose):
    answer, line_of = diagnose(
        """
        used = []
        write(sys.argv[1] + "/scores.jsonl")
        """,
        before="""
        def write(path):
            with open(path, "w") as out:
                print(json.dumps({"step": 0, "loss": library.draw(1)[0]}), file=out)
                out.flush()
            library.Model().fit
        """,
    )
    assert answer["cause"]["category"] == "unknown"
    assert answer["cause"]["line"] == line_of("library.draw(1)")


@pytest.mark.slow
def test_a_fault_at_one_round_of_many_is_found_in_it(diagnose):
    answer, line_of = diagnose(
        """
        used, total = [], 0.0
        for number in range(5000):
            total += step(number)
        used = [total]
        """,
        before="""
        def step(number):
            if number == 3333:
                return library.draw(1)[0]
            return float(abs(number))
        """,
    )
    assert answer["cause"]["line"] == line_of("library.draw(1)")
    assert answer["cause"]["confidence"] == "high"


@pytest.mark.slow
def test_a_hash_in_a_library_is_named_by_the_line_that_calls_it(diagnose):
    answer, line_of = diagnose(
        """
        name = len("other")
        used = library.buckets(["one", "two", "three"])
        """
    )
    cause = answer["cause"]
    assert (cause["category"], cause["line"]) == ("hash_order", line_of("library.buckets"))
    assert cause["confidence"] == "high"


@pytest.mark.slow
def test_an_order_by_addresses_in_a_library_is_named_by_its_line(diagnose):
    answer, line_of = diagnose(
        """
        used = []
        for one in library.parts([number / 3 for number in range(40)]):
            used.append(one)
        """
    )
    assert (answer["cause"]["category"], answer["cause"]["line"]) == (
        "process_identity",
        line_of("library.parts"),
    )


UNWATCHED = "import builtins\nassert not hasattr(builtins, '__reprokit_iterate__')\n"


def test_a_program_that_does_not_finish_with_the_watch_is_run_without_and_that_is_said(diagnose):
    answer, _ = diagnose("used = [1.0]", before=UNWATCHED, code=0)
    assert answer["verdict"] == "REPEATABLE"
    assert "with the watch in it, the program does not finish" in answer["known"][0]


@pytest.mark.slow
def test_without_the_watch_the_hash_seed_is_still_tried(diagnose):
    answer, _ = diagnose("used = [hash('a') % 1000]", before=UNWATCHED)
    assert answer["cause"]["category"] == "hash_order"


@pytest.mark.slow
def test_where_the_watch_breaks_the_program_its_calls_are_watched_all_the_same(diagnose):
    answer, line_of = diagnose("used = library.draw(2)", before=UNWATCHED)
    assert answer["cause"]["line"] == line_of("library.draw")
