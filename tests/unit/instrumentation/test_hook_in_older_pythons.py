"""The hook begins and leaves its trace in every Python from 3.8 on that this machine has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.hooked_program import HOOK

OLDEST = (3, 8)
PROGRAM = """
import multiprocessing, os, random, subprocess, sys, time, uuid
from concurrent.futures import ThreadPoolExecutor, as_completed
names = [name for name in {"a", "b", "c"}]
print(random.random(), uuid.uuid4(), time.time(), os.listdir("."), hash("a"), names)
subprocess.run([sys.executable, "-c", "import random; random.random()"], env={"A": "b"}, check=True)
with ThreadPoolExecutor(2) as pool:
    print([done.result() for done in as_completed([pool.submit(int, 1), pool.submit(int, 2)])])
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(list(pool.imap_unordered(abs, [1, 2])))
"""


def others() -> list[Path]:
    """Other Pythons next to the one that runs this, by their versions."""
    beside = Path(sys.base_prefix).parent.glob("3.*/bin/python3")
    return [one for one in sorted(beside) if _version(one) >= OLDEST]


def _version(python: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in python.parts[-3].split(".")[:2] if part.isdigit())


@pytest.mark.parametrize("python", [Path(sys.executable), *others()], ids=lambda one: one.parts[-3])
def test_it_is_loaded_and_leaves_a_trace_of_all_processes(python, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "program.py").write_text(PROGRAM)
    progress = {"mode": "measure"}
    (tmp_path / "orders.json").write_text(json.dumps({"out": str(out), "key": "a", "progress": progress}))
    done = subprocess.run(
        [python, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(tmp_path / "orders.json")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    traces = {path.name: json.loads(path.read_text()) for path in out.glob("trace-*.json")}
    assert {"trace-0.json", "trace-0.s0.json"} <= traces.keys()
    seen = {one["kind"] for one in traces["trace-0.json"]["sites"].values()}
    assert {
        "unseeded",
        "entropy",
        "clock",
        "directory_order",
        "hash",
        "set_order",
        "completion_order",
    } <= seen


WATCHED = """
import random
class Model:
    def __init__(self, rate):
        self.rate, self.seen = rate, {1, 2}
    def step(self, *values, **more):
        return sum(value * self.rate for value in values) + more.get("shift", 0)
model = Model(rate=0.5)
for number in range(40):
    found = model.step(number, random.Random(number).random(), shift=len([one for one in model.seen if one]))
print(f"{found:.3f}", {name: str(name) for name in "ab"}, list(zip((1, 2), (3, 4))))
"""


@pytest.mark.parametrize("python", [Path(sys.executable), *others()], ids=lambda one: one.parts[-3])
def test_calls_are_watched_and_the_program_prints_what_it_prints_by_itself(python, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "program.py").write_text(WATCHED)
    orders = {"out": str(out), "key": "a", "level": "calls", "calls": {"mode": "watch"}}
    (tmp_path / "orders.json").write_text(json.dumps(orders))
    told = []
    for hook in ({}, {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(tmp_path / "orders.json")}):
        done = subprocess.run(
            [python, "program.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": "0", **hook},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
        told.append(done.stdout)
    assert told[0] == told[1]
    recorded = "".join(path.read_text() for path in out.iterdir() if path.is_file())
    assert "program.py:11:" in recorded, "the line that calls step()"
