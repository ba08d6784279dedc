"""Functions and classes that leave the program: read by another compiler, or sent to another process."""

import json

import pytest

from support.hooked_program import run_hooked

#: A compiler that knows no names but those of the function's own module, as numba does.
COMPILER = """
def compiled(function):
    unknown = [name for name in function.__code__.co_names if name.startswith(("__reprokit", "__rk"))]
    if unknown:
        raise TypeError(f"Untyped global name {unknown}")
    return function
"""
COMPILED = """
import numpy as np
from compiler import compiled
@compiled
def smooth(x):
    y = np.empty(len(x))
    for i in range(len(x)):
        y[i] = abs(x[i])
    return y
def later(x):
    return np.empty(len(x))
later = compiled(later)
print(smooth([-1.0, 2.0]).tolist())
"""
CALLS = {"calls": {"mode": "watch"}}


@pytest.fixture
def packages(tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "compiler.py").write_text(COMPILER)
    return folder


@pytest.mark.parametrize("orders", [{}, CALLS], ids=["usual", "calls"])
def test_another_compiler_reads_a_function_as_it_stands_in_the_file(tmp_path, packages, orders):
    done = run_hooked(tmp_path, COMPILED, out=tmp_path / "out", packages=packages, **orders)
    assert (done.returncode, done.stdout) == (0, "[1.0, 2.0]\n"), done.stderr


def test_what_only_looks_at_a_function_leaves_it_watched(tmp_path):
    source = "import inspect, time\ndef now():\n    return hash('a')\ninspect.signature(now)\nnow()\n"
    run_hooked(tmp_path, source, out=tmp_path / "out")
    trace = json.loads((tmp_path / "out" / "trace-0.json").read_text())
    assert {(one["kind"], one["line"]) for one in trace["sites"].values()} >= {("hash", 3)}


@pytest.mark.parametrize("module", ["lightning.pytorch.utilities", "torch.nn.modules.module"])
def test_a_framework_that_compares_methods_leaves_them_watched(tmp_path, module):
    """Whether a hook is overridden, Lightning tells by its code."""
    source = f"""
class Net:
    def training_step(self):
        return hash("a")
exec("Net.training_step.__code__ == print", {{"__name__": "{module}", "Net": Net}})
Net().training_step()
"""
    run_hooked(tmp_path, source, out=tmp_path / "out")
    trace = json.loads((tmp_path / "out" / "trace-0.json").read_text())
    assert ("hash", 4) in {(one["kind"], one["line"]) for one in trace["sites"].values()}


SENT = """
import subprocess, sys
import cloudpickle, gymnasium
class Market(gymnasium.Env):
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0.0, {}
    def step(self, action):
        return 1.0, 2.0, False, False, {}
data = cloudpickle.dumps(Market)
code = "import sys, cloudpickle; e = cloudpickle.load(sys.stdin.buffer)(); e.reset(); print(e.step(0)[1])"
done = subprocess.run([sys.executable, "-c", code], input=data, stdout=subprocess.PIPE, check=True)
print(done.stdout.decode().strip())
"""


@pytest.mark.parametrize("orders", [{"progress": {"mode": "measure"}}, CALLS], ids=["usual", "calls"])
def test_a_class_of_environments_of_the_script_can_be_sent_to_another_process(tmp_path, orders):
    done = run_hooked(tmp_path, SENT, out=tmp_path / "out", **orders)
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr


#: As cloudpickle 3.1.3 sends code; and the code as it arrives.
NAMELESS = """
import types
def _code_reduce(code):
    return types.CodeType.replace, (code, "<dynamic-code>", "".join(code.co_name))
class Pickler:
    _dispatch_table = {types.CodeType: _code_reduce}
"""


@pytest.mark.parametrize("orders", [{}, CALLS], ids=["usual", "calls"])
def test_code_that_is_sent_to_another_process_keeps_the_name_of_its_file(tmp_path, packages, orders):
    (packages / "cloudpickle").mkdir()
    (packages / "cloudpickle" / "__init__.py").write_text("from .cloudpickle import Pickler")
    (packages / "cloudpickle" / "cloudpickle.py").write_text(NAMELESS)
    source = f"""
import json, sys, types
sys.path.insert(0, {str(packages)!r})
from cloudpickle import Pickler
def mine(): return 1
reduce = Pickler._dispatch_table[types.CodeType]
print(reduce(mine.__code__)[1][1] == __file__, reduce(json.loads.__code__)[1][1])
"""
    done = run_hooked(tmp_path, source, out=tmp_path / "out", **orders)
    assert (done.returncode, done.stdout) == (0, "True <dynamic-code>\n"), done.stderr
