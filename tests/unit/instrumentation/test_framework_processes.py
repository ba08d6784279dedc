"""What a framework asks for processes of its own is no draw of the program: neither recorded nor given again.

The frameworks are stand-ins; Ray itself: tests/planted, with ``ray_wait``.
"""

import json
from pathlib import Path

import pytest

from reprokit import instrumentation
from support.hooked_program import run_hooked

HOOK = Path(instrumentation.__file__).parent
#: Everything that Ray asks when it starts a cluster.
DRAWS = """
import os, random, tempfile, time, uuid
def ask():
    status = next(line for line in open("/proc/self/status") if line.startswith("Pid:"))
    drawn = [os.urandom(4).hex(), str(uuid.uuid4()), random.random(), random.Random().random()]
    drawn += [os.path.basename(tempfile.mkdtemp()), time.time()]
    return [status.split()[1], *drawn, len(os.listdir("."))]
def give(function):
    return function()
"""
PACKAGES = ("ray/_private", "ray/data", "starter")
PROGRAM = """
import json, os
from {package} import ask, give
def own():
    return os.urandom(4).hex()
print(json.dumps([ask(), give(own)]))
"""
ASK, OWN = 6, 5


@pytest.fixture
def run(tmp_path):
    for package in PACKAGES:
        folder = tmp_path / "packages" / "site-packages" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(DRAWS)

    def running(package, *, label="out", **orders):
        """What the program printed, and its call sites by kind and line."""
        out = tmp_path / label
        source, variables = PROGRAM.format(package=package.replace("/", ".")), {"TMPDIR": str(tmp_path)}
        packages = tmp_path / "packages" / "site-packages"
        done = run_hooked(tmp_path, source, out=out, packages=packages, variables=variables, **orders)
        assert done.returncode == 0, done.stderr
        traces = [json.loads(path.read_text()) for path in out.glob("trace-*.json")]
        sites = {(one["kind"], one["line"]) for trace in traces for one in trace["sites"].values()}
        return json.loads(done.stdout), sites

    return running


def held(tmp_path):
    """Orders for a run that is to have all that the first one had."""
    return {"label": "held", "key": "b", "pins": ["*"], "replay": str(tmp_path / "out"), "replay_key": "a"}


def test_what_a_framework_asks_for_its_own_processes_is_of_each_run_alone(run, tmp_path):
    (first, own), sites = run("ray/_private")
    (again, own_again), _ = run("ray/_private", **held(tmp_path))
    assert sites == {("entropy", OWN)}  # its own function, which the framework called
    assert own_again == own
    assert not set(map(str, first[:-1])) & set(map(str, again[:-1]))


@pytest.mark.parametrize("package", ["ray/data", "starter"])
def test_what_any_other_library_draws_is_seen_at_the_programs_line_and_given_again(run, tmp_path, package):
    (first, own), sites = run(package)
    (again, own_again), _ = run(package, **held(tmp_path))
    kinds = {"entropy", "unseeded", "file_read", "temporary_name", "library_clock", "directory_order"}
    assert {(kind, ASK) for kind in kinds} <= sites
    assert (again[:-1], own_again) == (first[:-1], own)
