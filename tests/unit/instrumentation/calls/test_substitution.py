"""What calls gave in one run is given to another: results, receivers and arguments with their identities."""

import array
import ast
import ctypes
import random
import textwrap
import types

import numpy as np
import pytest

from reprokit.instrumentation.reprokit_hook.calls import rewriting, substitution
from reprokit.instrumentation.reprokit_hook.calls.restoring import put_in_place

SITE = "program.py:"


class Run:
    """A program of which the calls at some lines are kept or given."""

    def __init__(self, source, folder):
        self.source, self.folder = textwrap.dedent(source), folder
        folder.mkdir()
        self.watch = types.SimpleNamespace(process="0", out=str(folder), facts={}, at_end=[])

    def sites(self, *lines):
        calls = [node for node in ast.walk(ast.parse(self.source)) if isinstance(node, ast.Call)]
        return frozenset(
            f"{SITE}{node.lineno}:{node.col_offset}-{node.end_col_offset}"
            for node in calls
            if node.lineno in lines
        )

    def run(self, made, lines, **names):
        tree = rewriting.rewritten(ast.parse(self.source), "program.py", only=self.sites(*lines))
        own = {
            rewriting.BEFORE: made.before,
            rewriting.AFTER: made.after,
            rewriting.REBOUND: made.rebound,
            **names,
        }
        exec(compile(tree, "program.py", "exec"), own)  # noqa: S102 - the program
        return own


def given(tmp_path, source, lines, *, kept, then):
    """The variables of a run that is given what another run had at these lines."""
    first = Run(source, tmp_path / "first")
    first.run(substitution.Recorder(first.watch), lines, **kept)
    second = Run(source, tmp_path / "second")
    return second.run(substitution.Replayer(second.watch, str(first.folder)), lines, **then)


class Model:
    """Fits to what chance it is given."""

    def __init__(self, chance):
        self.chance, self.found, self.parts = chance, None, {}

    def fit(self, out):
        self.found = self.chance()
        out.append(self.found)
        self.parts["a"] = np.full(2, self.found)
        return self


def test_a_result_and_the_state_of_receiver_and_arguments_are_the_other_runs_and_identities_stay(tmp_path):
    source = """
    out = []
    model = make()
    same = model.fit(out)
    is_same, later = same is model, (model.found, out[0], model.parts["a"].tolist())
    """
    numbers = [1.0, 2.0]
    names = [{"make": lambda one=one: Model(lambda: one)} for one in numbers]
    own = given(tmp_path, source, [4], kept=names[0], then=names[1])
    assert own["is_same"]
    assert own["later"] == (1.0, 1.0, [1.0, 1.0])


def test_each_hit_of_a_line_is_given_its_own_and_other_lines_are_left_as_they_are(tmp_path):
    source = "found = [draw() for _ in range(3)]\nother = draw()\n"
    one, other = iter([1, 2, 3, 4]), iter([5, 6, 7, 8])
    own = given(tmp_path, source, [1], kept={"draw": lambda: next(one)}, then={"draw": lambda: next(other)})
    assert (own["found"], own["other"]) == ([1, 2, 3], 5)


def test_the_global_generator_goes_on_as_it_did_in_the_other_run(tmp_path):
    source = "a = random.random()\nb = random.random()\n"
    drawn = []

    class Own:
        """As a program that seeds with something else each time."""

        @staticmethod
        def random():
            drawn.append(random.random())
            return drawn[-1]

    random.seed(1)
    first = Run(source, tmp_path / "first")
    first.run(substitution.Recorder(first.watch), [1], random=Own)
    random.seed(2)
    second = Run(source, tmp_path / "second")
    own = second.run(substitution.Replayer(second.watch, str(first.folder)), [1], random=Own)
    assert [own["a"], own["b"]] == drawn[:2]


def test_of_a_receiver_in_compiled_code_the_name_is_bound_anew(tmp_path):
    source = "numbers = make()\nnumbers.append(draw())\nfound = numbers.tolist()\n"
    kept, then = ({"make": lambda: array.array("d"), "draw": lambda one=one: one} for one in (1.0, 2.0))
    own = given(tmp_path, source, [2], kept=kept, then=then)
    assert own["found"] == [1.0]


FUNCTIONS = """
numbers = make()
def of_the_module():
    "Fills what others bind."
    numbers.append(draw())
    return numbers.tolist()
def of_a_function():
    values = make()
    def inside():
        if not values:
            values.append(draw())
        return values.tolist()
    return inside()
def of_its_own(values):
    values.append(draw())
    return values.tolist()
class Holder:
    numbers.append(draw())
    has_its_own = "numbers" in locals()
found = [of_the_module(), of_a_function(), of_its_own(make()), Holder.has_its_own]
"""


def test_a_receiver_that_a_function_does_not_bind_itself_stays_what_it_was_for_all(tmp_path):
    kept, then = ({"make": lambda: array.array("d"), "draw": lambda one=one: one} for one in (1.0, 2.0))
    lines = [number for number, line in enumerate(FUNCTIONS.splitlines(), 1) if ".append(" in line]
    own = given(tmp_path, FUNCTIONS, lines, kept=kept, then=then)
    assert own["found"] == [[1.0, 1.0], [1.0], [1.0], False]
    assert own["numbers"].tolist() == [1.0, 1.0]


class Handle:
    """What a library shows of compiled code; no pickle takes it."""

    def __init__(self, number):
        self.number, self.pointer = number, ctypes.c_void_p(1)


def test_an_argument_that_cannot_be_kept_stays_and_the_rest_is_given(tmp_path):
    source = """
    seen = {}
    data = handle()
    found = train(data, rows=[data], history=seen)
    """

    def train(number):
        return lambda data, rows, history: history.setdefault("loss", number)

    numbers = [1.0, 2.0]
    names = [{"train": train(one), "handle": lambda one=one: Handle(one)} for one in numbers]
    own = given(tmp_path, source, [4], kept=names[0], then=names[1])
    assert (own["found"], own["seen"], own["data"].number) == (1.0, {"loss": 1.0}, 2.0)


def test_a_receiver_that_cannot_be_kept_stays(tmp_path):
    source = "handle = opened()\nfound = handle.draw()\n"

    class Drawn(Handle):
        def draw(self):
            return self.number

    own = given(tmp_path, source, [2], kept={"opened": lambda: Drawn(1)}, then={"opened": lambda: Drawn(2)})
    assert (own["found"], type(own["handle"])) == (1, Drawn)


def test_what_cannot_be_kept_is_told_and_the_call_is_made(tmp_path):
    class Unkept:
        def __reduce__(self):
            raise TypeError("no")

    own = given(tmp_path, "made = make()\n", [1], kept={"make": Unkept}, then={"make": lambda: 7})
    assert own["made"] == 7
    assert '"note": "TypeError: no"' in (tmp_path / "first" / "calls-0.jsonl").read_text()


@pytest.mark.parametrize(
    ("new", "old", "read"),
    [
        ([1, [2]], [3, [4], 5], lambda one: one),
        ({"b": 1, "a": 2}, {"a": 0}, list),
        ({1, 2}, {3}, sorted),
        (np.arange(3.0), np.zeros(3), lambda one: one.tolist()),
        (random.Random(1), random.Random(2), lambda one: one.getstate()),
        (np.random.default_rng(1), np.random.default_rng(2), lambda one: one.bit_generator.state["state"]),
        (np.random.RandomState(1), np.random.RandomState(2), lambda one: one.get_state()[1].tolist()),
        (types.SimpleNamespace(a=1), types.SimpleNamespace(b=2), vars),
    ],
    ids=["list", "dict", "set", "array", "Random", "Generator", "RandomState", "attributes"],
)
def test_a_live_object_takes_the_state_of_a_recorded_one(new, old, read):
    kept = []
    put_in_place(new, old, {}, kept)
    assert (read(old), kept) == (read(new), [])


def test_elements_that_others_know_are_changed_in_place():
    inner = [1]
    old = {"a": inner}
    put_in_place({"a": [2]}, old, {}, [])
    assert inner == [2]
    assert old["a"] is inner
