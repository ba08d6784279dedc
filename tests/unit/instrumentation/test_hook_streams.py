"""The training as the watch sees it in a real interpreter: updates, environments, draws, operations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import instrumentation
from reprokit.diagnosis import first_difference, first_operation, read_trace, schedules

HOOK = Path(instrumentation.__file__).parent
pytest.importorskip("torch", reason="torch is not installed")

LEARNER = """
import os
import numpy as np, torch
torch.manual_seed(0)
rng = np.random.default_rng(3)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(1, 9):
    count = 8 + (step == int(os.environ.get("EXTRA", "0")))
    batch = rng.normal(size=(count, 4))[:8]
    if step == int(os.environ.get("OTHER", "0")):
        batch[3, 2] += 1e-3
    loss = model(torch.as_tensor(batch).float()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""

WORLD = """
import os, sys
import gymnasium, numpy as np

class World(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return np.zeros(1), {}
    def step(self, action):
        self.at += 1
        lucky = self.at >= int(os.environ.get("OTHER", "999"))
        return np.array([self.np_random.random() + lucky]), 1.0, False, False, {}

class Better(World):
    def step(self, action):
        return super().step(action)

worlds = [Better() for _ in range(2)]
for number, world in enumerate(worlds):
    world.reset(seed=number)
for step in range(int(sys.argv[1])):
    for world in worlds:
        world.step(step % 2)
"""


def run(tmp_path, label, source, progress, *words, **variables):
    """Run a program under watch: what it printed, and the folder of its trace."""
    out = tmp_path / label
    out.mkdir()
    (tmp_path / "program.py").write_text(source)
    level = "deep" if progress and progress["mode"] == "deep" else "light"
    orders = {"out": str(out), "key": "a", "level": level, "progress": progress}
    (out / "orders.json").write_text(json.dumps(orders))
    watched = {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": str(out / "orders.json")} if progress else {}
    done = subprocess.run(
        [sys.executable, "program.py", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **watched, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, out


def test_two_trainings_are_aligned_and_the_first_batch_that_differs_is_named(tmp_path):
    plain, _ = run(tmp_path, "plain", LEARNER, None)
    printed, first = run(tmp_path, "first", LEARNER, {"mode": "measure"})
    assert printed == plain  # nothing is changed by looking

    one = read_trace(first)
    _, second = run(tmp_path, "second", LEARNER, schedules(one), OTHER="5")
    found = first_difference(one, read_trace(second))

    assert one.progress["0"]["updates"] == 8
    assert (found.event, found.update, found.stream) == ("update", 5, "batch")
    assert found.equal_before.startswith("update 4: batch, gradients, optimizer, parameters")
    assert dict(found.generators) == {}


@pytest.mark.slow
def test_the_line_that_drew_more_is_named_where_every_draw_of_one_update_is_watched(tmp_path):
    orders = {"mode": "deep", "from": [4, 0], "to": [5, 0]}
    folders = [run(tmp_path, f"draws{n}", LEARNER, orders, EXTRA=n)[1] for n in ("0", "6")]
    found = first_operation(*folders)
    line = LEARNER.splitlines().index("    batch = rng.normal(size=(count, 4))[:8]") + 1
    assert (found.line, found.name.split(" made")[0]) == (line, "a draw from the generator")

    names = [one[0] for one in json.loads((folders[0] / "trace-0.json").read_bytes())["streams"]]
    assert names.count("the optimizer's step") == 2  # of update 5 and 6, and of no other
    assert "aten.addmm.default" in names
    assert any("backward" in name or name.startswith("aten.mm") for name in names)


def steps(*answers):
    return [name for one in answers for name in one["streams"]]


def test_steps_of_every_environment_are_told_once_and_numbered(tmp_path):
    _, out = run(tmp_path, "world", WORLD, {"mode": "narrow", "from": [0, 0], "to": [0, 99]}, "3")
    told = read_trace(out).progress["0"]
    assert [one["event"] for one in told["events"]] == ["reset"] * 2 + ["step"] * 6
    assert (told["steps"], told["updates"]) == (6, 0)
    assert steps(told["events"][-1]) == ["actions in environment 1", "answers of environment 1"]


def test_an_answer_that_differs_is_found_between_windows_that_are_equal(tmp_path):
    _, one = run(tmp_path, "one", WORLD, {"mode": "measure"}, "200")
    first = read_trace(one)
    _, other = run(tmp_path, "other", WORLD, schedules(first), "200", OTHER="75")
    coarse = first_difference(first, read_trace(other))
    assert coarse.since[1] < 149 <= coarse.until[1]

    orders = {"mode": "narrow", "from": coarse.since, "to": coarse.until}
    pair = [run(tmp_path, f"n{n}", WORLD, orders, "200", OTHER=n)[1] for n in ("999", "75")]
    found = first_difference(*map(read_trace, pair))
    assert (found.event, found.steps, found.stream) == ("step", 149, "answers of environment 0")


def test_actions_are_written_down_to_be_done_again(tmp_path):
    _, out = run(tmp_path, "script", WORLD, {"mode": "record", "record": 1}, "3")
    script = read_trace(out).scripts["1"]
    assert [one["reset"] for one in script["calls"]] == [True, False, False, False]
    assert script["spec"] == ""  # no module registers it: it cannot be made alone


CLOSURE = """
import ctypes, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
def closure():
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    return loss
optimizer.step(closure)
optimizer.step(closure)
"""


@pytest.mark.slow
def test_a_step_that_computes_its_own_gradients_is_not_held_to_those_that_it_was_given(tmp_path):
    _, out = run(tmp_path, "closure", CLOSURE, {"mode": "deep", "from": [0, 0], "to": [9, 0]})
    told = json.loads((out / "trace-0.json").read_bytes())
    assert told["progress"]["updates"] == 2
    assert "the optimizer's step" not in {one[0] for one in told["streams"]}


THREADED = """
import threading
import numpy as np
rng = np.random.default_rng(3)
stop = threading.Event()
def draw():
    while not stop.is_set():
        rng.random()
thread = threading.Thread(target=draw)
thread.start()
total = sum(range(1000))
for number in range(2000):
    total += number
stop.set()
thread.join()
rng.random()
"""


def test_with_other_threads_about_no_line_is_said_to_draw(tmp_path):
    _, out = run(tmp_path, "threads", THREADED, {"mode": "deep", "from": [0, 0], "to": [9, 0]})
    drew = json.loads((out / "trace-0.json").read_bytes())["streams"]
    last = THREADED.splitlines().index("rng.random()") + 1
    assert {one[2] for one in drew} == {last}
