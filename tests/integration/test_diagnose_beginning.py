"""`reprokit diagnose` says where it began, and names what no line of the program explains.

The programs import a package that takes its chance from the C library, where no watch reaches.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

CHANCE = """
import ctypes

_C = ctypes.CDLL(None)

def chance():
    buffer = ctypes.create_string_buffer(4)
    _C.getrandom(buffer, 4, 0)
    return int.from_bytes(buffer.raw, "little") / 2**32
"""

WORLDS = """
import gymnasium
import numpy as np
from chance import chance

class World(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)
    windy = False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.steps = self.np_random.uniform(-1, 1, size=2), 0
        return self.state.copy(), {}

    def step(self, action):
        self.steps += 1
        wind = World.breeze() if self.steps > 130 else 0.0
        self.state = 0.9 * self.state + 0.1 * action + wind
        return self.state.copy(), float(self.state.sum()), False, False, {}

World.breeze = staticmethod(chance)
gymnasium.register("Windy-v0", entry_point="worlds:World")
"""

PLAYS = """
import json, sys
import gymnasium, numpy as np
import worlds

env = gymnasium.make("Windy-v0")
rng = np.random.default_rng(3)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for episode in range(3):
        env.reset(seed=episode)
        rewards = [env.step(int(rng.integers(2)))[1] for _ in range(200)]
        out.write(json.dumps({"step": episode, "return": sum(rewards)}) + "\\n")
"""

BLAMELESS = PLAYS.replace(
    "import worlds\n",
    "import worlds\nfrom chance import chance\nnoise = chance()\nworlds.World.breeze = lambda: noise\n",
)

OPTIMIZERS = """
import torch
from chance import chance

class Wobbly(torch.optim.SGD):
    def step(self, closure=None):
        super().step(closure)
        self.done = getattr(self, "done", 0) + 1
        if self.done > 20:
            for group in self.param_groups:
                for one in group["params"]:
                    one.data.numpy()[...] += 1e-4 * chance()
"""

LEARNS = """
import json, sys
import torch
from optimizers import Wobbly

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = Wobbly(model.parameters(), lr=0.01)
with open(sys.argv[1] + "/metrics.jsonl", "w") as out:
    for step in range(40):
        batch = torch.randn(8, 4)
        loss = (model(batch) - batch.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.write(json.dumps({"step": step, "loss": loss.item()}) + "\\n")
"""


def diagnosed(folder, source, **packages):
    """The answer for a program whose packages lie where packages lie."""
    site = folder / "site-packages"
    site.mkdir()
    for name, text in {"chance": CHANCE, **packages}.items():
        (site / f"{name}.py").write_text(textwrap.dedent(text))
    (folder / "train.py").write_text(source)
    tool = [sys.executable, "-m", "reprokit", "diagnose", "--json"]
    done = subprocess.run(
        [*tool, "--", sys.executable, "train.py", "{run_dir}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_simulator_that_answers_otherwise_is_named_once_it_does_so_alone(tmp_path):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    answer = diagnosed(tmp_path, PLAYS, worlds=WORLDS)

    cause, began = answer["cause"], answer["divergence"]
    assert (cause["category"], cause["confidence"]) == ("simulator", "high")
    assert (
        cause["line"]
        == PLAYS.splitlines().index(
            "        rewards = [env.step(int(rng.integers(2)))[1] for _ in range(200)]"
        )
        + 1
    )
    assert (began["event"], began["stream"], began["environment_steps"]) == (
        "step",
        "answers of environment 0",
        131,
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_simulator_that_only_passes_on_what_comes_from_outside_is_not_accused(tmp_path):
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    outside = WORLDS.replace(
        "World.breeze = staticmethod(chance)", "World.breeze = staticmethod(lambda: 0.0)"
    )
    answer = diagnosed(tmp_path, BLAMELESS, worlds=outside)
    assert answer["cause"]["category"] == "unknown"
    assert answer["cause"]["line"] == BLAMELESS.splitlines().index("noise = chance()") + 1
    assert any("equally when it runs alone" in one for one in answer["known"])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_optimizer_that_makes_other_parameters_of_the_same_gradients_is_named(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    answer = diagnosed(tmp_path, LEARNS, optimizers=OPTIMIZERS)

    cause, began = answer["cause"], answer["divergence"]
    assert cause["line"] == LEARNS.splitlines().index("        optimizer.step()") + 1
    assert "same gradients" in cause["what"]
    assert (began["update"], began["stream"]) == (21, "parameters")
