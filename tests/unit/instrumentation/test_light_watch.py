"""The watch of a judged run in a real interpreter: it records whose seed is whose, and changes no byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reprokit import instrumentation
from reprokit.capture import probe

HOOK = Path(instrumentation.__file__).parent


def run(folder: Path, source: str, *, watched: bool = True):
    """What a program printed, and the records of its processes."""
    (folder / "program.py").write_text(source)
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("REPROKIT")}
    hook = {"REPROKIT_HOOK_OUT": str(folder / "out"), "REPROKIT_HOOK_PROBE": str(probe.__file__)}
    if watched:
        surroundings |= {"PYTHONPATH": str(HOOK), "REPROKIT_HOOK": "light", **hook}
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = (folder / "out").glob("light-*.json")
    return done.stdout, {path.stem.removeprefix("light-"): json.loads(path.read_text()) for path in found}


def seeds(record):
    return [(one["generator"], one["origin"], one["seed"], one["line"]) for one in record["seeds"]]


def drawn(record):
    return [(one["generator"], one["line"]) for one in record["drawn_unseeded"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("import random; random.seed(7); random.random()", ("Python's random", "seed", "7", 1)),
        ("import random; random.Random('a').random()", ("random.Random", "seed", "'a'", 1)),
        ("import random; random.Random().random()", ("random.Random", "entropy", "", 1)),
        ("import _random; _random.Random(7).random()", ("_random.Random", "seed", "7", 1)),
        ("import _random; _random.Random().random()", ("_random.Random", "entropy", "", 1)),
        ("import _random; r = _random.Random(); r.seed(7); r.random()", ("_random.Random", "seed", "7", 1)),
        (
            "from _random import Random as R\nclass Own(R): pass\nOwn().random()",
            ("_random.Random", "entropy", "", 3),
        ),
        ("import random; random.SystemRandom().random()", ("random.SystemRandom", "entropy", "", 1)),
        ("import numpy; numpy.random.seed(7)", ("NumPy's global generator", "seed", "7", 1)),
        ("import numpy; numpy.random.default_rng(7)", ("a NumPy generator", "seed", "7", 1)),
        ("import numpy; numpy.random.default_rng()", ("a NumPy generator", "entropy", "", 1)),
        ("import numpy; numpy.random.RandomState(7)", ("a NumPy RandomState", "seed", "7", 1)),
        ("import numpy; numpy.random.RandomState()", ("a NumPy generator", "entropy", "", 1)),
        ("import numpy; numpy.random.PCG64(7)", ("a NumPy generator", "seed", "7", 1)),
    ],
)
def test_a_seed_is_recorded_with_the_line_that_gave_it(tmp_path, line, expected):
    _, records = run(tmp_path, line)
    assert seeds(records["0"]) == [expected]
    assert drawn(records["0"]) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import random\nrandom.random()", ("Python's random", 2)),
        ("import random\nrandom.random()\nrandom.seed(3)", ("Python's random", 2)),
        ("import numpy\nnumpy.random.rand()", ("NumPy's global generator", 2)),
        ("import numpy\nnumpy.random.rand()\nnumpy.random.seed(3)", ("NumPy's global generator", 2)),
    ],
)
def test_a_draw_before_the_seed_is_recorded_with_its_line(tmp_path, source, expected):
    _, records = run(tmp_path, source)
    assert drawn(records["0"]) == [expected]


@pytest.mark.parametrize(
    "source",
    [
        "import random, numpy",
        "import tempfile; tempfile.mkdtemp()",
        "import uuid, secrets; uuid.uuid4(); secrets.token_hex()",
        "import random\ngenerator = random.Random()  # never drawn from",
    ],
)
def test_what_is_no_generator_of_numbers_or_is_never_drawn_from_does_not_count(tmp_path, source):
    _, records = run(tmp_path, source)
    assert (seeds(records["0"]), drawn(records["0"])) == ([], [])


def test_a_generator_that_is_given_its_seed_later_counts_by_that_seed(tmp_path):
    _, records = run(tmp_path, "import random\nmade = random.Random()\nmade.seed(5)\nmade.random()")
    assert seeds(records["0"]) == [("random.Random", "seed", "5", 3)]


def test_a_program_that_reloads_the_module_runs_and_its_seed_is_recorded(tmp_path):
    source = "import importlib, random\nimportlib.reload(random)\nrandom.seed(7)\nprint(random.random())"
    printed, records = run(tmp_path, source)
    assert printed == "0.32383276483316237\n"
    assert ("random.Random", "seed", "7", 3) in seeds(records["0"])


def test_a_copy_of_a_generator_has_the_seed_of_the_original(tmp_path):
    _, records = run(tmp_path, "import copy, numpy\ncopy.deepcopy(numpy.random.default_rng(5))")
    assert seeds(records["0"]) == [("a NumPy generator", "seed", "5", 2)]


def test_a_generator_from_a_pickle_is_told_as_restored(tmp_path):
    source = "import pickle, numpy\npickle.loads(pickle.dumps(numpy.random.default_rng(5)))"
    _, records = run(tmp_path, source)
    assert [one[1] for one in seeds(records["0"])] == ["seed", "restored"]


def test_spawned_seeds_differ_from_each_other(tmp_path):
    source = "import numpy\nfor one in numpy.random.SeedSequence(5).spawn(2): numpy.random.default_rng(one)"
    _, records = run(tmp_path, source)
    assert [one[2] for one in seeds(records["0"])] == ["5", "5 0", "5 1"]


def test_python_gives_a_forked_child_a_seed_from_entropy(tmp_path):
    source = (
        "import os, random\nrandom.seed(3)\npid = os.fork()\nrandom.random()\n"
        "os._exit(0) if pid == 0 else os.waitpid(pid, 0)"
    )
    _, records = run(tmp_path, source)
    assert (drawn(records["0"]), drawn(records["0.f1"])) == ([], [("Python's random", 4)])
    assert records["0.f1"]["parent"] == "0"


def test_children_are_named_by_the_line_that_starts_them(tmp_path):
    source = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])\nsubprocess.run(['true'])\n"
    source += "subprocess.run([sys.executable, '-I', '-c', ''])\nimport os\nos.system('true')"
    _, records = run(tmp_path, source)
    children = [(one["name"], one["line"]) for one in records["0"]["children"]]
    assert children == [("0.s0", 2), ("0.s1", 3), ("0.s2", 4), ("", 6)]
    assert set(records) == {"0", "0.s0"}


def test_the_program_computes_and_prints_the_same_bytes(tmp_path):
    source = """\
import random, numpy
random.seed(3); numpy.random.seed(3)
generator, old = numpy.random.default_rng([3, 4]), numpy.random.RandomState(5)
print([random.random(), random.gauss(0, 1), random.sample(range(99), 3)], random.getstate()[1][-1])
print(numpy.random.rand(3), numpy.random.normal(), numpy.random.get_state()[2])
print(generator.random(3), old.rand(2), numpy.random.default_rng(generator.integers(9)).random())
print(random.Random(4).random(), numpy.random.SeedSequence(4).spawn(1)[0].generate_state(2))
"""
    (tmp_path / "plain").mkdir()
    (tmp_path / "watched").mkdir()
    plain, _ = run(tmp_path / "plain", source, watched=False)
    assert run(tmp_path / "watched", source)[0] == plain


TORCH = """\
import torch
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
adam = torch.optim.Adam(model.parameters(), lr=0.1)
generator = torch.Generator()
generator.manual_seed(4)
for step in range(3):
    loss = model(torch.rand(4, 2, generator=generator)).pow(2).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
print([one.tolist() for one in model.parameters()], isinstance(torch.default_generator, torch.Generator))
"""


def test_every_step_of_an_optimizer_leaves_the_digests_of_named_parameters(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "plain").mkdir()
    (tmp_path / "watched").mkdir()
    plain, _ = run(tmp_path / "plain", TORCH, watched=False)
    printed, records = run(tmp_path / "watched", TORCH)
    assert printed == plain
    lines = (tmp_path / "watched/out/light-0.trace").read_text().splitlines()
    steps = [json.loads(line) for line in lines]
    assert [one["step"] for one in steps] == [1, 2, 3]
    digests = {digest for one in steps for digest in (*one["parameters"].values(), *one["random"].values())}
    assert {len(digest) for digest in digests} == {32}, "as the traces of trainers"
    assert list(steps[0]["parameters"]) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert steps[0]["parameters"]["0.bias"] != steps[1]["parameters"]["0.bias"]
    assert [one[:3] for one in seeds(records["0"])] == [
        ("PyTorch's default generator", "seed", "3"),
        ("a torch.Generator", "seed", "4"),
    ]
    assert records["0"]["in_force"]["torch"]["threads"] >= 1


OWN_GENERATOR = """\
import torch
generator = torch.Generator()
generator.manual_seed(4)
weights = torch.zeros(2, requires_grad=True)
sgd = torch.optim.SGD([weights], lr=0.1)
for step in range(3):
    (torch.rand(4, 2, generator=generator) @ weights - 1).pow(2).mean().backward()
    DRAW
    sgd.step()
"""


@pytest.mark.parametrize(("draw", "states"), [("pass", [0, 0, 0]), ("step and torch.rand(1)", [0, 1, 1])])
def test_the_default_generator_is_traced_from_its_first_draw_on(tmp_path, draw, states):
    """Before, it holds entropy, which no number of the program came from."""
    pytest.importorskip("torch")
    run(tmp_path, OWN_GENERATOR.replace("DRAW", draw))
    lines = (tmp_path / "out/light-0.trace").read_text().splitlines()
    assert [len(json.loads(line)["random"]) for line in lines] == states


def test_a_model_that_is_made_before_the_seed_is_named_by_a_line(tmp_path):
    pytest.importorskip("torch")
    source = "import torch\nmodel = torch.nn.Sequential(\n    torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))\n"
    _, records = run(tmp_path, source + "torch.manual_seed(3)")
    assert drawn(records["0"]) == [("PyTorch's default generator", 3)]


def test_a_generator_of_pytorch_without_a_seed_is_told(tmp_path):
    pytest.importorskip("torch")
    source = "import torch\ngenerator = torch.Generator()\ntorch.rand(2, generator=generator)"
    _, records = run(tmp_path, source)
    assert [one[1] for one in seeds(records["0"])] == ["default"]


@pytest.mark.parametrize(
    ("module", "call", "generator"),
    [
        ("random", "random.seed, (7,)", "Python's random"),
        ("random", "random.Random, (7,)", "random.Random"),
        ("torch", "torch.cuda.manual_seed, (7,)", "PyTorch's generators of cuda"),
    ],
)
def test_what_compiled_code_seeds_in_a_thread_of_its_own_is_noted_and_ends_nothing(
    tmp_path, module, call, generator
):
    """Below such a call there is no frame at all."""
    pytest.importorskip(module)
    source = f"""
import _thread, sys, time
import {module}
sys.unraisablehook = lambda told: print(told.exc_value)
_thread.start_new_thread({call})
time.sleep(0.5)
"""
    out, records = run(tmp_path, source)
    assert out == ""
    assert (generator, "7") in [(one[0], one[2]) for one in seeds(records["0"])]
