"""The order in which a program takes what Ray has computed: seen by line, varied, and given again.

Ray itself: tests/planted, with ``ray_wait``.
"""

import json
import os
from pathlib import Path

import pytest

from reprokit import instrumentation
from support.hooked_program import run_hooked

HOOK = Path(instrumentation.__file__).parent
#: Tasks are ready in the order of ``READY``; those that are not in it never are.
RAY = """
import os
READY, STARTS_S = os.environ["READY"].split(","), float(os.environ.get("STARTS_S", "0"))
class Ref:
    def __init__(self, name):
        self.name = name
    def binary(self):
        return self.name.encode()
def wait(ray_waitables, *, num_returns=1, timeout=None, fetch_local=True):
    if not isinstance(ray_waitables, list):
        raise TypeError("a list is expected")
    there = sorted((one for one in ray_waitables if one.name in READY), key=lambda one: READY.index(one.name))
    if timeout is not None and timeout < STARTS_S:
        there = [one for one in there if one.name != "c"]  # its actor's process is not up yet
    if len(there) < num_returns and timeout is None:
        raise SystemExit("waits for ever")
    ready = there[:num_returns]
    return ready, [one for one in ray_waitables if one not in ready]
"""
PROGRAM = """
import ray
waiting, taken = [ray.Ref(name) for name in "abcd"], []
while waiting:
    ready, waiting = ray.wait(waiting, num_returns=min({at_once}, len(waiting)){more})
    taken += [one.name for one in ready] or ["nothing"]
    if taken[-2:] == ["nothing", "nothing"]:
        break
print(*taken)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "packages" / "site-packages").mkdir(parents=True)
    (tmp_path / "packages" / "site-packages" / "ray.py").write_text(RAY)

    def running(ready, *, label="out", at_once=1, more="", **orders):
        """What the program printed, and its call sites by kind and line."""
        out = tmp_path / label
        source = PROGRAM.format(at_once=at_once, more=more)
        packages = tmp_path / "packages" / "site-packages"
        done = run_hooked(tmp_path, source, out=out, packages=packages, variables={"READY": ready}, **orders)
        traces = [json.loads(path.read_text()) for path in out.glob("trace-*.json")]
        sites = {
            (one["kind"], one["line"]): sum(one["counts"].values())
            for trace in traces
            for one in trace["sites"].values()
        }
        assert done.returncode == 0, done.stderr
        return done.stdout.split(), sites

    return running


def pinned(tmp_path):
    pin = f"completion_order|{os.path.realpath(tmp_path / 'program.py')}|5"
    return {"label": "pinned", "key": "b", "pins": [pin], "replay": str(tmp_path / "out"), "replay_key": "a"}


def test_what_is_ready_first_is_taken_first_and_seen_at_its_line(run):
    taken, sites = run("c,a,d,b")
    assert taken == ["c", "a", "d", "b"]
    assert sites == {("completion_order", 5): 4}


@pytest.mark.parametrize("at_once", [1, 3])
def test_a_pinned_line_is_given_what_the_other_run_had_whatever_is_ready_first(run, tmp_path, at_once):
    first, _ = run("c,a,d,b", at_once=at_once)
    again, _ = run("b,d,a,c", at_once=at_once, **pinned(tmp_path))
    assert again == first


def test_what_does_not_come_is_not_waited_for_for_ever(run, tmp_path):
    """The other run had ``c`` first; here it fails to come, and the program continues with what there is."""
    run("c,a,d,b")
    taken, _ = run("b,d,a", more=", timeout=0.1", **pinned(tmp_path))
    assert taken == ["b", "a", "d", "nothing", "nothing"]


def test_what_comes_late_is_waited_for_where_the_program_would_wait_for_ever(run, tmp_path, monkeypatch):
    """An actor whose process takes longer to start than in the other run is no other order."""
    run("c,a,d,b")
    monkeypatch.setenv("STARTS_S", "20")
    taken, _ = run("b,d,a,c", **pinned(tmp_path))
    assert taken == ["c", "a", "d", "b"]


def test_under_the_variation_another_one_of_those_that_are_ready_is_taken(run):
    taken, sites = run("c,a,d,b", vary=["completion_order"])
    assert sorted(taken) == ["a", "b", "c", "d"]
    assert taken != ["c", "a", "d", "b"]
    assert sites[("completion_order", 5)] == 4


def test_how_often_nothing_was_ready_is_no_order(run):
    taken, sites = run("a", more=", timeout=0.1")
    assert (taken, sites) == (["a", "nothing", "nothing"], {("completion_order", 5): 1})
