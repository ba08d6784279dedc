"""The digest of any value: equal values alike, others not; and reading one changes nothing."""

import collections
import ctypes
import dataclasses
import datetime as dt
import enum
import io
import os
import pathlib
import random
import subprocess
import sys
import textwrap
import threading
import time
import uuid

import numpy as np
import pytest

from reprokit import instrumentation
from reprokit.instrumentation.reprokit_hook.calls.walk import Seen, digest

HOOK = pathlib.Path(instrumentation.__file__).parent


def of(value):
    return digest(value, Seen())


class Plain:
    def __init__(self, **values):
        self.__dict__.update(values)


class Slotted:
    __slots__ = ("__hidden", "one")

    def __init__(self, one, hidden=0):
        self.one, self.__hidden = one, hidden


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Point:
    x: float


Pair = collections.namedtuple("Pair", "a b")

DIFFERENT = [
    (1, 2),
    (1, 1.0),
    (True, 1),
    (0.0, -0.0),
    ("a", b"a"),
    ([1, 2], [2, 1]),
    ([1, 2], (1, 2)),
    ([[1], 2], [[1, 2]]),
    (["a", "bc"], ["ab", "c"]),
    ([1, 2, 3, 4, 5], [1, 2, 3, 5, 4]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1, 2}, {1, 3}),
    (np.arange(4), np.arange(4.0)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.array([0.0]), np.array([-0.0])),
    (np.float32(1), np.float64(1)),
    (np.array([{"a": 1}], object), np.array([{"a": 2}], object)),
    (np.ones(100_000), np.concatenate([np.ones(99_999), [1 + 2**-52]])),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])),
    (Plain(a=1), Plain(a=2)),
    (Slotted(1), Slotted(2)),
    (Slotted(1, 1), Slotted(1, 2)),
    (Colour.RED, Colour.BLUE),
    (Point(1), Point(2)),
    (Pair(1, 2), Pair(2, 1)),
    (collections.OrderedDict(a=1), collections.OrderedDict(a=2)),
    (collections.Counter("ab"), collections.Counter("aa")),
    (collections.deque([1, 2]), collections.deque([2, 1])),
    (random.Random(1), random.Random(2)),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (np.random.RandomState(1), np.random.RandomState(2)),
    (dt.date(2020, 1, 1), dt.date(2020, 1, 2)),
    (pathlib.Path("a"), pathlib.Path("b")),
    (io.BytesIO(b"a"), io.BytesIO(b"b")),
    (memoryview(b"ab"), memoryview(b"ba")),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
    (ValueError("a"), ValueError("b")),
    (len, max),
    (Plain, Slotted),
    ([1].append, [2].append),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=lambda value: type(value).__name__)
def test_values_that_differ_have_other_digests(one, other):
    assert of(one) != of(other)


def test_objects_that_know_all_others_in_sets_are_not_walked_in_every_order():
    nodes = [Plain(a=number) for number in range(8)]
    for one in nodes:
        one.others = set(nodes)
    seen, size = Seen(), []
    found = [digest(one, seen, num_bytes=size) for one in (nodes[0], nodes[0])]
    assert found[0] == found[1]
    assert found[0].endswith("?")
    assert "builtins.set" in seen.unseen
    assert size[0] == size[1] > 1 << 20  # so that calls are left out after it


@pytest.mark.parametrize("which", range(len(DIFFERENT)))
def test_a_value_has_the_same_digest_again(which):
    for value in DIFFERENT[which]:
        assert of(value) == of(value)


def test_in_another_process_with_another_hash_seed_a_value_has_the_same_digest():
    source = """
    import collections, datetime, decimal, fractions, pathlib, random, re
    import numpy as np
    from reprokit_hook.calls.walk import Seen, digest
    class Node:
        def __init__(self, names): self.names, self.next = names, None
    a = Node({"x", "y", "z"}); a.next = Node(frozenset("pqr")); a.next.next = a
    print(digest([a, {"k": {1, "b", 2.5}}, random.Random(3), np.random.default_rng(4), decimal.Decimal("1.5"),
                  fractions.Fraction(1, 3), re.compile("a+"), collections.Counter("abca"), lambda x: a,
                  datetime.timedelta(1), np.array(["a", "bb"]), pathlib.Path("q"), range(3),
                  slice(1, 2)], Seen()))
    """
    told = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONPATH": str(HOOK), "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", textwrap.dedent(source)]
        told.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(told) == 1
    assert "?" not in told.pop()


def test_what_is_shared_is_not_what_is_equal():
    shared = [1]
    assert of([shared, shared]) != of([[1], [1]])
    ring = []
    ring.append(ring)
    assert of(ring) == of(ring)


def test_columns_first_and_rows_first_are_told_apart_by_their_bytes_alone():
    rows = np.arange(6.0).reshape(2, 3)
    assert of(np.asfortranarray(rows)) == of(np.asfortranarray(rows.copy()))
    assert of(rows[::-1]) == of(rows[::-1].copy())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{uuid.uuid4()}", f"{uuid.uuid4()}"),
        (uuid.uuid4().hex, uuid.uuid4().hex),
        (uuid.uuid4(), uuid.uuid4()),
        ("<object at 0x7f0a1b2c3d4e>", "<object at 0x7f0a1b2c3d5f>"),
        ("/tmp/tmpab3d_e9x/model.bin", "/tmp/tmpzz3d_e9x/model.bin"),
        (Plain(pid=os.getpid()), Plain(pid=os.getpid())),
    ],
    ids=["uuid", "hex", "uuid object", "address", "temporary", "pid"],
)
def test_what_is_of_one_run_alone_counts_by_its_kind(one, other):
    assert of(one) == of(other)


def test_a_moment_of_this_run_counts_by_its_kind_and_any_other_by_its_value():
    seen = Seen()
    now, then = time.time(), 1_500_000_000.0
    assert digest(now, seen) == digest(now + 0.5, seen) == digest(time.time(), seen)
    assert digest(then, seen) != digest(then + 1, seen)
    one, other = (dt.datetime.now(dt.timezone.utc) for _ in range(2))  # noqa: UP017 - as programs write it
    assert digest(f"run of {one.isoformat()}", seen) == digest(f"run of {other.isoformat()}", seen)
    assert digest("run of 2019-03-01T10:00:00", seen) != digest("run of 2019-03-01T10:00:01", seen)
    assert digest(one, seen) == digest(other, seen)
    started = time.perf_counter()
    assert digest(Plain(began=started), seen) == digest(Plain(began=time.perf_counter()), seen)


def test_a_uuid_that_a_seed_decides_counts_by_its_value():
    assert of(uuid.uuid5(uuid.NAMESPACE_DNS, "a")) != of(uuid.uuid5(uuid.NAMESPACE_DNS, "b"))


class Foreign:
    """Answers nothing but its type."""

    def _asked(self, *_):
        raise AssertionError("a foreign object was asked")

    __bool__ = __len__ = __iter__ = __eq__ = __hash__ = __repr__ = __getattr__ = __getattribute__ = _asked
    __getstate__ = __reduce__ = __reduce_ex__ = __array__ = _asked


def test_of_a_foreign_object_nothing_but_its_type_is_asked():
    one, other = Foreign(), Foreign()
    object.__setattr__(one, "x", 1)
    object.__setattr__(other, "x", 2)
    assert of([one, {"k": one}]) != of([other, {"k": other}])


class Lazy:
    """A proxy that would load what it stands for when it is asked for its class."""

    loaded = 0

    @property
    def __class__(self):
        Lazy.loaded += 1
        return dict


def test_a_lazy_object_is_not_loaded():
    of([Lazy(), Lazy()])
    assert Lazy.loaded == 0


def states():
    numpy = np.random.get_state()  # noqa: NPY002 - the one that must not be moved
    return random.getstate(), numpy[1].tobytes(), numpy[2:]


def test_no_generator_is_moved_and_no_iterator_is_consumed():
    own, steps = np.random.default_rng(1), iter([1, 2, 3])
    made = (number for number in range(3))
    lines = io.StringIO("a\nb\n")
    before = states(), own.bit_generator.state
    seen = Seen()
    digest([own, random.Random(2), np.random.RandomState(3), random, np.random, steps, made, lines], seen)
    assert (states(), own.bit_generator.state) == before
    assert (list(steps), list(made), lines.read()) == ([1, 2, 3], [0, 1, 2], "a\nb\n")
    assert {"builtins.generator", "builtins.list_iterator"} <= set(seen.unseen)


class Handle(type(sys.implementation)):
    """A compiled base that attributes do not show, and a state that draws when it is read."""

    def __reduce__(self):
        random.random()
        np.random.random()  # noqa: NPY002 - the same
        return dict, ()


def test_a_digest_that_draws_is_dropped_and_named_and_the_generator_is_put_back():
    before, seen = states(), Seen()
    assert digest(Handle(), seen).endswith("?")
    assert digest(Handle(), seen).endswith("?")
    assert states() == before
    assert seen.unseen[f"{__name__}.Handle"][1] == "reading it draws random numbers"


def test_what_cannot_be_read_is_told_by_type_and_count():
    seen = Seen()
    assert digest([threading.Lock(), sys.stdout, (one for one in ())], seen).endswith("?")
    assert seen.unseen["_thread.lock"][0] == 1


class OwnState:
    """Plain Python: its attributes are read, its own ``__getstate__`` is not called."""

    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        raise AssertionError("called")


class Native:
    """A pointer to what compiled code holds, which its own ``__getstate__`` reads."""

    def __init__(self, value, *, fails=False):
        self.held, self.handle, self.fails = [value], ctypes.c_void_p(1), fails

    def __getstate__(self):
        if self.fails:
            raise OSError("freed")
        return {"handle": bytes(self.held)}


def test_what_a_pointer_leads_to_is_read_by_the_state_that_would_be_pickled():
    seen = Seen()
    one, other = (digest(Native(value), seen) for value in (1, 2))
    assert one != other
    assert not seen.unseen
    assert digest(Native(1, fails=True), seen).endswith("?")


def test_the_program_s_own_code_is_not_called():
    assert of(OwnState(1)) != of(OwnState(2))


class Loader:
    """Iterates itself, in Python: reading its attributes moves nothing."""

    def __init__(self, at):
        self.at = at

    def __next__(self):
        raise AssertionError("moved")

    __iter__ = __next__


def test_an_iterator_written_in_python_is_read_by_its_attributes():
    assert of(Loader(1)) != of(Loader(2))
    assert not of(Loader(1)).endswith("?")


def test_a_value_of_any_depth_and_size_ends():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert of(deep).endswith("?")
    assert of([[one] for one in range(300_000)]).endswith("?")


def test_the_path_of_a_generator_inside_an_object_is_told():
    found = {}
    digest(Plain(sampler=Plain(_rng=random.Random(1))), Seen(), generators_at=found)
    assert list(found) == [".sampler._rng (Random)"]


torch = pytest.importorskip("torch")


def test_a_gradient_counts_and_autograd_is_not_touched():
    one = torch.ones(3, requires_grad=True)
    (one * 2).sum().backward()
    other = torch.ones(3, requires_grad=True)
    assert of(one) != of(other)
    hidden = one * 3
    assert not of(hidden).endswith("?")
    hidden.sum().backward()


def test_views_types_and_layouts_of_tensors_are_read():
    rows = torch.arange(6.0).reshape(2, 3)
    assert of(rows.t()) == of(rows.t().contiguous())
    assert of(torch.tensor([1.0], dtype=torch.bfloat16)) != of(torch.tensor([1.5], dtype=torch.bfloat16))
    assert of(torch.eye(2).to_sparse()) != of(torch.eye(3).to_sparse())
    assert of(torch.empty(2, device="meta")) == of(torch.empty(2, device="meta"))


def test_a_module_and_its_optimizer_are_read_and_the_generator_stays():
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(net.parameters())
    before, state = of([net, optimizer]), torch.get_rng_state().clone()
    assert of([net, optimizer]) == before
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert of(optimizer) != before
    assert torch.equal(torch.get_rng_state(), state)
    assert of(torch.Generator().manual_seed(1)) != of(torch.Generator().manual_seed(2))


def test_tables_are_read():
    pandas = pytest.importorskip("pandas")
    one = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    other = pandas.DataFrame({"a": [1, 2], "b": ["x", "z"]})
    assert of(one) == of(one.copy()) != of(other)
    assert of(one["b"]) != of(other["b"])
    arrow = pytest.importorskip("pyarrow")
    assert of(arrow.table({"a": [1, 2]})) == of(arrow.table({"a": [1, 2]})) != of(arrow.table({"a": [1, 3]}))


class DataFrame:
    """As a table of polars: compiled code holds it, and only its own state tells what is in it."""

    def __init__(self, state):
        self._df, self._state = memoryview(b"native"), state

    def __getstate__(self):
        return self._state


@pytest.mark.parametrize(
    "states", [(b"rows 1 2", b"rows 2 1"), ([Plain(column=1)], [Plain(column=2)])], ids=["bytes", "columns"]
)
def test_tables_of_polars_are_read_by_their_own_state(monkeypatch, states):
    monkeypatch.setattr(DataFrame, "__module__", "polars.dataframe.frame")
    one, other = (of(DataFrame(state)) for state in states)
    assert one != other
    assert one == of(DataFrame(states[0]))
    assert not one.endswith("?")
