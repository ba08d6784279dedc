"""Leaves of a program's objects: their paths, what differs, and putting one in."""

import json
import random
import sys
import types
from collections import namedtuple
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from reprokit.harness.diagnosing.restoring import lost_leaves, same_update

INSIDE = Path(same_update.__file__).parent / "inside"
Pair = namedtuple("Pair", "first second")


@pytest.fixture
def walk(monkeypatch):
    """The walk of the local variables of a function that stands for the program."""
    monkeypatch.syspath_prepend(str(INSIDE))
    import reprokit_walk  # noqa: PLC0415 - found through the path above

    yield reprokit_walk
    sys.modules.pop("reprokit_walk", None)


def frame(**variables):
    return sys._getframe()


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def paths(walk, made, *, but=()):
    return {
        walk.shown(path): leaf
        for path, leaf in made.leaves.items()
        if walk.shown(path).startswith("variables[") and leaf.kind not in but
    }


def walked(walk, **variables):
    return walk.Walk([(frame(**variables), True)])


def recorded(made):
    held = {path: (leaf.kind, leaf.payload) for path, leaf in made.leaves.items()}
    return {"leaves": held, "nodes": {path: node.kind for path, node in made.nodes.items()}}


def differing(walk, one, two):
    ours, theirs = paths(walk, one, but=("length",)), paths(walk, two, but=("length",))
    return sorted(
        name for name, leaf in ours.items() if getattr(theirs.get(name), "digest", "") != leaf.digest
    )


def test_leaves_have_the_paths_that_python_would_write(walk):
    made = walked(walk, a=Thing(b={"c": [Thing(d=1), 2]}, e=np.zeros(2)), f=random.Random(3))
    assert list(paths(walk, made, but=("length",))) == [
        "variables['f']",
        "variables['a'].e",
        "variables['a'].b['c'][1]",
        "variables['a'].b['c'][0].d",
    ]


@pytest.mark.parametrize(
    ("whole", "resumed"),
    [
        (lambda: Thing(kept={"speed": 1.5}), lambda: Thing(kept={})),
        (lambda: Thing(kept={"speed": [np.ones(2), {"deep": 1}]}), lambda: Thing(kept={})),
        (lambda: Thing(kept=Pair(1.5, np.ones(2))), lambda: Thing(kept=Pair(2.5, np.zeros(2)))),
        (lambda: Thing(kept=(np.ones(2), "a")), lambda: Thing(kept=(np.zeros(2), "b"))),
        (lambda: Thing(kept=[1, 2, 3]), lambda: Thing(kept=[1])),
        (lambda: random.Random(1), lambda: random.Random(2)),
        (lambda: np.random.default_rng(1), lambda: np.random.default_rng(2)),
        (lambda: np.random.RandomState(1), lambda: np.random.RandomState(2)),
        (lambda: Thing(kept=np.arange(3.0)), lambda: Thing(kept=np.zeros(3))),
    ],
    ids=[
        "a key",
        "a deep key",
        "named tuple",
        "tuple",
        "list",
        "random",
        "Generator",
        "RandomState",
        "array",
    ],
)
def test_what_differs_is_equal_once_it_was_put_in(walk, whole, resumed):
    ours, other = walked(walk, one=whole()), {"one": resumed()}
    theirs = walk.Walk([(frame(**other), True)])
    assert differing(walk, ours, theirs)
    wanted = [path for path in ours.leaves if walk.shown(path).startswith("variables[")]
    _, failed = walk.put_in(theirs, recorded(ours), [path for path in wanted if path[-1] != ("length",)])
    assert failed == []


def test_what_was_put_in_is_there_and_nothing_else_changed(walk):
    whole, resumed = Thing(kept={"a": 1, "b": 2}), Thing(kept={"b": 7, "c": 3})
    ours, theirs = walked(walk, one=whole), walked(walk, one=resumed)
    (path,) = [one for one in ours.leaves if walk.shown(one) == "variables['one'].kept['a']"]
    assert walk.put_in(theirs, recorded(ours), [path]) == ([path], [])
    assert resumed.kept == {"a": 1, "b": 7, "c": 3}


def test_the_state_of_an_optimizer_is_named_as_its_state_dict_names_it(walk):
    torch = pytest.importorskip("torch")
    sides = []
    for steps in (1, 0):
        torch.manual_seed(3)
        net = torch.nn.Linear(2, 1)
        adam = torch.optim.Adam(net.parameters())
        for _ in range(steps):
            net(torch.ones(1, 2)).sum().backward()
            adam.step()
            adam.zero_grad()
        sides.append((adam, walked(walk, opt=adam)))
    (_, ours), (adam, theirs) = sides
    names = ["exp_avg", "exp_avg_sq", "step"]
    lost = [one for one in differing(walk, ours, theirs) if ".state[" in one]
    assert lost == [f"variables['opt'].state[{at}]['{name}']" for at in (0, 1) for name in names]
    wanted = [path for path in ours.leaves if walk.shown(path) in lost]
    assert walk.put_in(theirs, recorded(ours), wanted)[1] == []
    assert len(adam.state) == 2


def index(walk, made):
    """What a recording tells of a walk, as the tool reads it."""
    leaves = {
        repr(path): same_update.Leaf(
            path=walk.shown(path),
            steps=repr(path),
            kind=leaf.kind,
            digest=leaf.digest,
            root=leaf.root,
            settable=leaf.put is not None,
        )
        for path, leaf in made.leaves.items()
        if walk.shown(path).startswith("variables[")
    }
    return same_update.Recording(
        folder=Path(),
        leaves=leaves,
        roots=frozenset(one.root for one in leaves.values()),
        owners={},
        opaque=(),
        also={same_update._stem(repr(path)): repr(one) for path, one in made.also.items()},
        stack=(),
        problem="",
    )


def test_an_object_that_is_made_anew_in_place_of_one_of_several_names_is_found_by_its_own_path(walk):
    def part(seed):
        return Thing(draws=random.Random(seed), rate=0.1)

    dropped, loaded = part(1), part(1)
    ours = walked(walk, first=dropped, model=Thing(parts=[Thing(inner=dropped)]))
    theirs = walked(walk, first=part(1), model=Thing(parts=[Thing(inner=loaded)]))
    assert same_update.differing(index(walk, ours), index(walk, theirs)) == ()
    dropped.draws.random()
    ours = walked(walk, first=dropped, model=Thing(parts=[Thing(inner=dropped)]))
    found = same_update.differing(index(walk, ours), index(walk, theirs))
    names = ["variables['first'].draws", "variables['model'].parts[0].inner.draws"]
    assert sorted(one.path for one in found) == names
    (lost,) = [one for one in found if one.path == names[1]]
    (path,) = [one for one in ours.leaves if repr(one) == lost.source]
    assert walk.shown(path) == names[0]


def test_an_object_that_only_the_resumed_run_reaches_by_a_shorter_path_is_held_against_the_same_one(walk):
    part = Thing(rate=0.1)
    ours = walked(walk, model=Thing(parts=[Thing(inner=Thing(rate=0.2))]))
    theirs = walked(walk, model=Thing(parts=[Thing(inner=part)]), part=part)
    (found,) = same_update.differing(index(walk, ours), index(walk, theirs))
    assert (found.path, found.source) == (
        "variables['part'].rate",
        next(repr(path) for path in ours.leaves if walk.shown(path).endswith("inner.rate")),
    )


def counts(folder, *kinds):
    folder.mkdir()
    names = list(dict.fromkeys(kinds))
    found = {"counts": {one: kinds.count(one) for one in names}, "order": [names.index(one) for one in kinds]}
    (folder / "updates-7.json").write_text(json.dumps(found))
    return folder


def test_the_same_update_is_the_one_at_which_as_many_are_left(tmp_path):
    whole = counts(tmp_path / "whole", *["epoch", "batch", "batch", "batch"] * 3)
    resumed = counts(tmp_path / "resumed", "epoch", "batch", "epoch", "batch", "batch", "batch")
    # the resumed run begins in the middle of an epoch, at the sixth batch; no epoch begins there
    assert same_update.same_updates(whole, resumed) == {"batch": 6}
    later = counts(tmp_path / "later", *["epoch", "batch", "batch", "batch"] * 2)
    assert same_update.same_updates(whole, later) == {"epoch": 2, "batch": 4}


def test_a_run_that_repeats_batches_to_skip_them_has_no_such_update_in_its_loops(tmp_path):
    whole = counts(tmp_path / "whole", *["epoch", "batch", "batch", "batch"] * 3)
    skipping = counts(tmp_path / "skipping", *["epoch", "batch", "batch", "batch"] * 3)
    assert same_update.same_updates(whole, skipping) == {}


def test_a_kind_that_begins_after_the_last_update_in_both_runs_does_not_count(tmp_path):
    whole = counts(tmp_path / "whole", *["trial"] * 6, *["line"] * 6)
    resumed = counts(tmp_path / "resumed", *["trial"] * 2, *["line"] * 3)
    assert same_update.same_updates(whole, resumed)["trial"] == 5
    # records are placed by counts only where as many are left of every kind
    assert Fraction(1, 3) not in same_update.shares_made(whole, resumed)


def test_batches_after_the_last_epoch_that_begins_do_count(tmp_path):
    whole = counts(tmp_path / "whole", *["epoch", "batch", "batch", "batch"] * 2)
    in_the_last_epoch = counts(tmp_path / "resumed", "epoch", "batch")
    assert same_update.same_updates(whole, in_the_last_epoch) == {"batch": 6}


def leaf(name):
    root = (name, "train.py", "<module>", 0)
    return same_update.Leaf(path=name, steps=name, kind="value", digest="", root=root, settable=True)


@pytest.mark.parametrize(("runs", "found"), [(40, "bf"), (2, "abcdefg")])
def test_the_smallest_set_is_found_where_the_budget_lasts(runs, found):
    asked = []

    def tried(kept):
        asked.append(kept)
        return None if len(asked) > runs else {"b", "f"} <= {one.path for part in kept for one in part}

    kept, is_least = lost_leaves._least(
        [(leaf(name),) for name in "abcdefg"], tried, weight=lost_leaves._likely
    )
    assert ("".join(one.path for part in kept for one in part), is_least) == (found, runs == 40)


def test_what_makes_the_program_go_another_way_is_left_out_and_said():
    lost = [leaf(name) for name in ("draws", "count", "began", "rate")]
    ran = []

    class Asked(lost_leaves._Asked):
        def _put_in(self, leaves):
            held = {one.path for one in leaves}
            ran.append(held)
            alike = not {"began"} & held
            return lost_leaves._Answer(agrees=alike and {"draws", "count"} <= held, alike=alike)

    side = types.SimpleNamespace(problem="", owners={}, stack=())
    pair = types.SimpleNamespace(read_at=None)
    asked = Asked(lab=types.SimpleNamespace(spent=False), pair=pair, kind="", whole=side, resumed=side)
    found = asked.smallest(lost)
    assert found.state == ("draws", "count")
    assert found.cause.confidence == "high"
    assert [one for one in found.known if "`began`" in one]
    assert len(ran) < 12


def test_where_all_goes_as_the_resumed_run_did_and_still_differs_nothing_is_named():
    class Asked(lost_leaves._Asked):
        def _put_in(self, leaves):
            return lost_leaves._Answer(agrees=False, alike=True)

    side = types.SimpleNamespace(problem="", owners={}, stack=())
    lab = types.SimpleNamespace(spent=False)
    asked = Asked(lab=lab, pair=None, kind="", whole=side, resumed=side)
    assert asked.smallest([leaf("draws"), leaf("count")]) is None


def test_the_line_is_that_of_the_variable_in_its_own_function(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(
        "def other():\n    model = 1\n\n\ndef main():\n    model = 2\n    model = 3\n    print(model)\n"
    )
    assert lost_leaves.made_at(str(file), "model", within=5, before=8) == 7
    assert lost_leaves.made_at(str(file), "model", within=1, before=0) == 2
    assert lost_leaves.made_at(str(file), "model", within=0, before=0) == 0


@pytest.mark.parametrize(("least", "line"), [(True, 1), (False, 26)])
def test_where_not_every_smaller_set_was_tried_the_line_that_reads_the_checkpoint_is_named(
    tmp_path, least, line
):
    program = tmp_path / "train.py"
    program.write_text("model = make()\n")
    lost = replace(leaf("model.rate"), root=("model", str(program), "<module>", 0))
    pair = types.SimpleNamespace(read_at=(str(program), 26, "<module>"))
    asked = lost_leaves._Asked(
        lab=None, pair=pair, kind="", whole=None, resumed=types.SimpleNamespace(stack=())
    )
    assert asked._cause([lost], confidence="medium", least=least).line == line
