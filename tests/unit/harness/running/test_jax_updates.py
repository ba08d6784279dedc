"""Updates of JAX are counted at the calls of compiled functions, with a small stand-in for the library."""

import importlib
import sys
import types

import pytest

from reprokit.harness.running.resuming import counted_program


class Traced:
    """What a function is given while it is compiled."""


@pytest.fixture
def library(monkeypatch):
    """``jit``, which runs the Python of a function once, and then no more; and ``apply_updates``."""
    monkeypatch.syspath_prepend(str(counted_program._INSIDE))
    jax = types.ModuleType("jax")
    jax.core = types.SimpleNamespace(Tracer=Traced)
    jax.tree_util = types.SimpleNamespace(tree_leaves=lambda made: [made])
    monkeypatch.setitem(sys.modules, "jax", jax)
    counts = []
    updates = importlib.import_module("reprokit_stop_jax").Updates(lambda: counts.append(1))
    seen = set()

    def jit(function):
        def call(value):
            if isinstance(value, Traced):
                return function(value)
            if function not in seen:
                seen.add(function)
                function(Traced())
            return value

        return call

    yield types.SimpleNamespace(
        jit=updates.compiler(jit), apply_updates=updates.applied(lambda value: value), counts=counts
    )
    sys.modules.pop("reprokit_stop_jax")


def test_every_call_of_a_function_that_updates_is_one_update(library):
    step = library.jit(library.apply_updates)
    for _ in range(3):
        step(1)
    assert len(library.counts) == 3


def test_a_function_that_makes_none_is_not_counted(library):
    evaluate = library.jit(lambda value: value)
    for _ in range(3):
        evaluate(1)
    assert library.counts == []


def test_an_update_outside_of_what_is_compiled_is_one(library):
    library.apply_updates(1)
    assert len(library.counts) == 1


def test_a_compiled_function_within_another_is_one_update_with_it(library):
    inner = library.jit(library.apply_updates)
    outer = library.jit(inner)
    for _ in range(2):
        outer(1)
    assert len(library.counts) == 2


def test_a_function_that_is_compiled_anew_at_each_call_is_counted_each_time(library):
    def step(value):
        return library.apply_updates(value)

    for _ in range(3):
        library.jit(step)(1)
    assert len(library.counts) == 3


def test_a_compiled_method_knows_its_object(library):
    class Trainer:
        rate = 7
        step = library.jit(library.apply_updates)

    assert Trainer().step.__self__.rate == 7
