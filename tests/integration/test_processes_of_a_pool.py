"""`reprokit diagnose` says that processes of a pool decide, where each goes on with its own generator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import instrumentation
from reprokit.harness.diagnosing.restoring import with_state

ONE_WORKER = """\
import concurrent.futures.process, multiprocessing.pool, os, time
import reprokit_state

reprokit_state._one_process(multiprocessing.pool)
reprokit_state._one_process_of_executor(concurrent.futures.process)

def process(_):
    time.sleep(0.01)
    return os.getpid()

if __name__ == "__main__":
    with multiprocessing.Pool(3) as pool:
        print(len(set(pool.map(process, range(12), chunksize=1))))
    with concurrent.futures.ProcessPoolExecutor(max_workers=3) as pool:
        print(len(set(pool.map(process, range(12)))))
    with multiprocessing.pool.ThreadPool(3) as pool:
        print(pool._processes)
"""
PROGRAM = """\
import concurrent.futures, json, multiprocessing, random, sys
import numpy as np

VALUES = np.random.default_rng(0).normal(size=200)

def mean(task):
    DRAWN
    return float(drawn.mean())

if __name__ == "__main__":
    random.seed(12)
    np.random.seed(12)
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(max_workers=2, mp_context=context) as pool:
        means = list(pool.map(mean, range(16)))
    with open(sys.argv[1] + "/metrics.jsonl", "w") as log:
        for step, one in enumerate(means):
            log.write(json.dumps({"step": step, "mean": one}) + "\\n")
"""
SHARED = "drawn = np.random.permutation(VALUES)[:50]"
OF_BOTH = "drawn = np.random.permutation(VALUES)[:50] + random.random()"
OF_ITS_OWN = "drawn = np.random.default_rng(task).permutation(VALUES)[:50]"


def test_each_pool_has_one_process_where_that_is_ordered_and_threads_are_left_alone(tmp_path):
    (tmp_path / "pools.py").write_text(ONE_WORKER)
    hook = Path(instrumentation.__file__).parent
    inside = Path(with_state.__file__).parent / "inside"
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(hook), str(inside)])}
    done = subprocess.run(
        [sys.executable, "pools.py"], cwd=tmp_path, env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "1", "3"]


def diagnosed(folder, drawn):
    """The exit code and the answer for the program whose tasks draw like this."""
    (folder / "means.py").write_text(PROGRAM.replace("DRAWN", drawn))
    command = [sys.executable, "-m", "reprokit", "diagnose", "--json", "--reports-dir", "reports"]
    command += ["--", sys.executable, "means.py", "{run_dir}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def line_of(text):
    return 1 + PROGRAM.splitlines().index(text)


@pytest.mark.slow
@pytest.mark.parametrize("drawn", [SHARED, OF_ITS_OWN], ids=["by process", "by task"])
def test_tasks_that_draw_from_the_generator_of_their_process_differ_by_the_pool(tmp_path, drawn):
    pytest.importorskip("numpy")
    code, found = diagnosed(tmp_path, drawn)
    if drawn == OF_ITS_OWN:
        assert (code, found["cause"]) == (0, None)
        return
    line = line_of("        means = list(pool.map(mean, range(16)))")
    assert (code, found["cause"]["category"], found["cause"]["line"]) == (1, "concurrency", line)
    assert "the processes of a pool work in another order" in found["cause"]["what"]


@pytest.mark.slow
def test_of_tasks_that_draw_from_two_generators_of_their_process_both_reasons_are_named(tmp_path):
    pytest.importorskip("numpy")
    code, found = diagnosed(tmp_path, OF_BOTH)
    told = {(one["category"], one["line"]) for one in found["causes"]}
    pool, draw = line_of("        means = list(pool.map(mean, range(16)))"), line_of("    DRAWN")
    assert (code, told) == (1, {("concurrency", pool), ("unseeded_rng", draw)})
    assert {one["confidence"] for one in found["causes"]} == {"medium"}
