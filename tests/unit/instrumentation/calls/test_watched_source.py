"""A program whose calls are watched does what it did, and each call is recorded once."""

import ast
import asyncio
import inspect
import json
import textwrap
import threading
import traceback
import types

import pytest

from reprokit.diagnosis.calls import read_calls
from reprokit.instrumentation.reprokit_hook.calls import rewriting, ticks
from reprokit.instrumentation.reprokit_hook.calls.stream import Stream

FORMS = {
    "a method of the class above": """
        class A:
            def __init__(self, x): self.x = x
            def make(self): return [self.x]
        class B(A):
            def __init__(self, x): super().__init__(x + 1)
            def make(self): return super().make() + super(B, self).make()
        show(B(1).make())
    """,
    "its own variables": """
        def f(a, b=2):
            c = max(a, b)
            return sorted(locals())
        show(f(1)); show("f" in globals())
    """,
    "decorators and defaults": """
        import functools
        def twice(function):
            @functools.wraps(function)
            def inner(*args, **words): return function(*args, **words) * 2
            return inner
        @twice
        def f(x, y=list((1, 2)), *, z=dict(a=1)): "What it does."; return len(y) + x + z["a"]
        show(f(3)); show(f.__doc__); show(f.__name__)
        class C:
            @property
            def p(self): return str(1)
            @staticmethod
            def s(x): return str(x)
            @classmethod
            def c(cls): return cls.__name__.lower()
        show((C().p, C.s(2), C.c()))
    """,
    "comprehensions": """
        show([abs(x) for x in map(int, "1234") if str(x) != "2"])
        show({str(k): sum(v) for k, v in dict(a=[1, 2]).items()})
        show(sorted({x.upper() for x in "abca"}))
        show(list(str(x) for x in reversed([1, 2, 3])))
        show([[str(x * y) for x in range(3)] for y in range(3)])
    """,
    "asynchronous code": """
        import asyncio
        async def f(x):
            await asyncio.sleep(0)
            return str(x)
        async def numbers():
            for x in range(3):
                yield await f(x)
        async def main():
            return [x.upper() async for x in numbers()] + list(await asyncio.gather(f("a"), f("b")))
        show(asyncio.run(main()))
    """,
    "names that are bound in an expression": """
        if (n := max(3, 4)) > 3: show(n)
        show([y for x in (1, 2) if (y := min(x, 1))])
    """,
    "formatted texts": """
        x = 3.14159
        show(f"{x:.{len('ab')}f} {str(x)!r:>10} {max(1, 2)=}")
    """,
    "generators": """
        def g(n):
            sent = yield str(n)
            show(sent)
            yield from map(str, range(n))
            return "end".upper()
        it = g(2); show(next(it)); show(it.send("x")); show(list(it))
        def outer():
            found = yield from g(0)
            show(found)
        list(outer())
    """,
    "declarations": """
        count = 0
        def up():
            "Doc."
            for _ in range(3):
                global count
                count += abs(1)
            def inner():
                nonlocal_count = str(count)
                return nonlocal_count
            return inner()
        def counter():
            n = 0
            def step():
                nonlocal n
                n += abs(1)
                return n
            step(); return step()
        show(up()); show(up()); show(counter()); show(up.__doc__)
    """,
    "handlers": """
        import contextlib
        def f(x):
            try:
                return int(x.strip())
            except ValueError as error:
                return str(error)
            finally:
                show("finally".title())
        show([f("1"), f("a")])
        with contextlib.suppress(KeyError): dict()["a"]
        for x in range(30):
            if str(x) == "3": continue
            if str(x) == "20": break
        else:
            show("never")
        show(x)
        k = 0
        while min(k, 25) < 25:
            k += abs(1)
        else:
            show(k)
    """,
    "words and stars": """
        def f(*args, **words): return args, sorted(words.items())
        show(f(*[1, 2], site=1, called=2, **{"a": 3, "self": 4}))
        show((lambda *a, **k: f(*a, **k))(1, x=2))
    """,
    "classes with names that are mangled": """
        class A:
            def __hidden(self): return str(1)
            def open(self): return self.__hidden()
            def __init_subclass__(cls, **words): show(sorted(words)); super().__init_subclass__()
        class B(A, word=1): pass
        show(B().open())
    """,
    "products of matrices": """
        class M:
            def __matmul__(self, other): return str(other)
            def __rmatmul__(self, other): return repr(other)
            def __imatmul__(self, other): return len(other)
        m = M(); show(m @ 1); show(1 @ m); m @= "abc"; show(m)
    """,
    "what is called itself": """
        class Calls:
            def __call__(self, x): return x + 1
        show(Calls()(1)); show([str][0](1)); show((lambda: max)()(1, 2))
    """,
}


class Program:
    """A source, as it is and with its calls watched."""

    def __init__(self, source, folder):
        self.source, self.folder = textwrap.dedent(source), folder
        self.watch = types.SimpleNamespace(process="0", context="0", out=str(folder), facts={}, at_end=[])

    def run(self, *, window=None):
        """What the watched program showed, and its calls."""
        stream = Stream(self.watch, window)
        names = {
            rewriting.BEFORE: stream.before,
            rewriting.AFTER: stream.after,
            rewriting.ROUND: stream.round,
            rewriting.TICKS: stream.ticks,
            rewriting.ORDER: stream.order,
            rewriting.MATMUL: lambda one, other: one @ other,
        }
        places = []
        tree = rewriting.rewritten(ast.parse(self.source), "program.py", places=places)
        if window is None:
            stream.ticks.update((place, ticks.pattern(ticks.FIRST)) for place in places)
        shown = self._run(compile(tree, "program.py", "exec"), names)
        stream.flush()
        calls = read_calls(self.folder).ordered.get("0", [])
        return shown, [call for call in calls if not call.is_round]

    def untouched(self):
        return self._run(compile(self.source, "program.py", "exec"), {})

    @staticmethod
    def _run(code, names):
        shown = []
        exec(code, {"__name__": "program", "show": shown.append, **names})  # noqa: S102 - the program
        return shown


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)  # the watch counts threads by it
    return lambda source: Program(source, tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_the_program_does_what_it_did(program, form):
    made = program(FORMS[form])
    shown, calls = made.run()
    assert shown == made.untouched() != []
    assert calls


def test_a_traceback_has_the_program_s_frames_and_lines_alone(program):
    source = "def f(x):\n    return inner(\n        x)\ndef inner(x):\n    raise ValueError(str(x))\nf(1)\n"
    made, frames = program(source), []
    for run in (made.untouched, made.run):
        with pytest.raises(ValueError, match="1") as caught:
            run()
        found = traceback.extract_tb(caught.value.__traceback__)
        frames.append([(one.name, one.lineno) for one in found if one.filename == "program.py"])
    assert frames[0] == frames[1] == [("<module>", 6), ("f", 2), ("inner", 5)]


def test_after_an_exception_later_calls_are_recorded_as_ever(program):
    source = """
        def fails(): raise KeyError(1)
        for _ in range(3):
            try: max(1, fails())
            except KeyError: str(1)
    """
    _, calls = program(source).run()
    assert [call.name for call in calls].count("builtins.str") == 3
    assert not any(call.name.endswith("fails") for call in calls)


def test_a_call_is_told_by_the_line_of_what_it_calls_and_its_columns(program):
    _, calls = program("x = (\n    'a b'\n    .upper()\n    .split())\nabs(1); str(max(1, 2))\n").run()
    lines = [(call.name, int(call.site.split(":")[1])) for call in calls]
    assert lines[:2] == [("str.upper", 3), ("str.split", 4)]
    sites = [call.site for call in calls]
    assert len(set(sites)) == len(sites)


def test_inputs_results_and_what_is_changed_are_told_apart(program):
    source = "a = []\na.append(1)\nlen\nsorted(a)\nsorted(a)\na.append(1)\n"
    _, (append, first, second, again) = program(source).run()
    assert (first.input, first.output) == (second.input, second.output)
    assert append.input != append.after
    assert append.given == again.given
    assert append.receiver != again.receiver


def test_of_many_rounds_the_first_are_watched_and_then_ever_fewer(program):
    _, calls = program("for x in range(1024):\n    str(x)\n").run()
    assert len(calls) == 64 + 4 * 16
    assert [call.rounds[1] for call in calls[62:67]] == [62, 63, 64, 68, 72]
    assert calls[-1].rounds[1] == 1024 - 32


def test_of_many_calls_of_a_function_only_some_are_watched_inside(program):
    _, calls = program("def f(x): return str(x)\nfor x in range(128): f(x)\n").run()
    assert [call.name for call in calls].count("program.f") == 64 + 16


def test_from_the_round_that_is_asked_for_on_every_one_is_watched(program):
    place = "program.py:1:0:For"
    window = {"first": [place, 80], "most": 50}
    _, calls = program("for x in range(1000):\n    str(x)\n").run(window=window)
    watched = [call.rounds[1] for call in calls]
    assert watched[:68] == [*range(64), 64, 68, 72, 76]
    assert watched[68:118] == [*range(80, 130)]
    assert len(watched) < 200


def test_what_was_around_the_first_call_of_each_line_is_told(program, tmp_path):
    source = """
        import random, threading
        def work():
            thread = threading.Thread(target=random.random)
            thread.start(); thread.join()
        def fit(rows, nthread=1): return random.gauss(rows, nthread)
        for x in range(3): work(); fit(x, nthread=2)
    """
    program(source).run()
    lines = [
        json.loads(line) for path in tmp_path.glob("calls-*.jsonl") for line in path.read_text().splitlines()
    ]
    assert len({one["site"] for one in lines}) == len(lines)
    found = {tuple(one["parameters"]): one for one in lines}
    work, fit = found[()], found["rows", "nthread"]
    assert (work["python_threads"], fit["python_threads"]) == (1, 0)
    assert list(fit["generators"]) == ["Python's random"]
    assert fit["parameters"] == ["rows", "nthread"]


def test_the_order_of_a_set_is_what_iterating_over_it_gives(program):
    _, calls = program("names = {'a', 'b', 'c'}\nfor x in names: pass\n").run()
    assert [call.name for call in calls] == ["iterate over a set"]


def test_only_the_calls_that_are_asked_for_are_changed():
    source = "abs(1)\nstr(2)\nfor x in range(3):\n    max(x, 1)\n"
    tree = rewriting.rewritten(ast.parse(source), "p.py", only=frozenset(["p.py:2:0-6"]))
    text = ast.unparse(tree)
    assert text.count(rewriting.BEFORE) == 1
    assert "for x in range(3):\n    max(x, 1)" in text


def test_a_loop_that_runs_beside_others_keeps_its_calls_apart(program):
    source = """
        import asyncio
        async def one(name):
            for number in range(3):
                str(name + str(number))
                await asyncio.sleep(0)
        async def main(): await asyncio.gather(one("a"), one("b"))
        asyncio.run(main())
    """
    _, calls = program(source).run()
    assert [call.name for call in calls].count("builtins.str") == 12
    assert inspect.iscoroutinefunction(asyncio.sleep)
