"""The watch in a real interpreter: the program runs as ever, and what it drew on is recorded by line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import instrumentation

HOOK = Path(instrumentation.__file__).parent


def run(tmp_path, source, *, label="out", **orders):
    """Run a program under watch: what it printed, its exit code, and the call sites by kind."""
    out = tmp_path / label
    out.mkdir()
    (tmp_path / "program.py").write_text(source)
    (tmp_path / "orders.json").write_text(json.dumps({"out": str(out), "key": "a"} | orders))
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(tmp_path / "orders.json")},
    )
    traces = [json.loads(path.read_text()) for path in sorted(out.glob("trace-*.json"))]
    sites = {(one["kind"], one["line"]) for trace in traces for one in trace["sites"].values()}
    return done, sites, out


@pytest.mark.parametrize(
    "line",
    [
        "sorted(names, key=len)",
        "max(names, key=len)",
        "list(names)",
        "[*names]",
        "','.join(names)",
        "[one for one in names]",
        "list(zip(names, range(2)))",
        "list(enumerate(names))",
        "dict.fromkeys(names)",
        "names.pop()",
        "a, b = names",
    ],
)
def test_wherever_the_order_of_a_set_is_taken_it_is_seen(tmp_path, line):
    _, sites, _ = run(tmp_path, f"names = {{'a', 'b'}}\n{line}\n")
    assert ("set_order", 2) in sites


@pytest.mark.parametrize("line", ["sorted(names)", "len(names)", "'a' in names", "set(names)", "range(3)"])
def test_where_a_set_has_no_order_nothing_is_seen(tmp_path, line):
    done, sites, _ = run(tmp_path, f"names = {{'a', 'b'}}\n{line}\n")
    assert (done.returncode, sites) == (0, set())


def test_asking_a_queue_whether_it_is_empty_is_seen_though_empty_is_also_a_name_of_unwritten_memory(tmp_path):
    _, sites, _ = run(tmp_path, "import queue\nq = queue.Queue()\nq.empty()\n")
    assert sites == {("thread_state", 3)}


def test_lines_keep_their_numbers_and_the_exit_code_is_the_program_s(tmp_path):
    source = "import os, sys, time\nfor name in {'a', 'b'}:\n    pass\nhash('x')\ntime.time()\nsys.exit(5)\n"
    done, sites, _ = run(tmp_path, source)
    assert (done.returncode, done.stderr) == (5, "")
    assert {("set_order", 2), ("hash", 4), ("clock", 5)} <= sites


def test_a_traceback_names_the_program_s_line(tmp_path):
    done, _, _ = run(tmp_path, "import os\nvalue = 1 / 0\n")
    assert done.returncode == 1
    assert 'program.py", line 2' in done.stderr
    assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


def test_a_generator_that_is_seeded_draws_what_it_draws_without_the_watch(tmp_path):
    source = "import random\nrandom.seed(3)\nprint(random.random(), random.sample(range(9), 3))\n"
    done, sites, _ = run(tmp_path, source)
    plain = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == plain.stdout
    assert sites == set()


def test_one_line_can_be_given_what_it_drew_in_another_run_and_the_next_draws_its_own(tmp_path):
    source = "import random\nprint(random.random())\nprint(random.random())\n"
    first, _, out = run(tmp_path, source)
    pin = f"unseeded|{os.path.realpath(tmp_path / 'program.py')}|2"
    second, _, _ = run(tmp_path, source, label="pinned", key="b", pins=[pin], replay=str(out), replay_key="a")
    (pinned, free) = zip(first.stdout.split(), second.stdout.split(), strict=True)
    assert pinned[0] == pinned[1]
    assert free[0] != free[1]


def test_another_sitecustomize_is_run_too(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("print('mine')\n")
    (tmp_path / "orders.json").write_text(json.dumps({"out": str(tmp_path), "key": "a"}))
    paths = os.pathsep.join([str(HOOK), str(tmp_path / "mine")])
    done = subprocess.run(
        [sys.executable, "-c", "print('program')"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": paths, "REPROKIT_HOOK": str(tmp_path / "orders.json")},
    )
    assert done.stdout.split() == ["mine", "program"]
