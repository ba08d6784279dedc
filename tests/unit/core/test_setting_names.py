"""Sets of settings are named by what differs between them."""

from __future__ import annotations

import pytest

from reprokit.core.setting_names import differences, told_apart

COMMAND = 'command=[python, train.py, "--seed={seed}", "--logdir={run_dir}", "--lr=%s", "--hidden=32"%s]'


@pytest.mark.parametrize(
    ("sets", "names"),
    [
        ([(COMMAND % ("0.01", ""),), (COMMAND % ("0.001", ""),)], ["lr=0.01", "lr=0.001"]),
        ([(COMMAND % ("1", ""),), (COMMAND % ("1", ', "--fast"'),)], ["without fast", "fast"]),
        ([("command=[a, --lr, 0.1, b]",), ("command=[a, --lr, 1e-3, b]",)], ["lr=0.1", "lr=1e-3"]),
        ([("command=[a, --lr, -0.1]",), ("command=[a, --lr, -0.2]",)], ["lr=-0.1", "lr=-0.2"]),
        (
            [("command=[a, --seed, 3, --fast]",), ("command=[a, --seed, 3, -v]",)],
            ["fast without v", "without fast v"],
        ),
        ([("command=[python, a.py]",), ("command=[python, b.py]",)], ["a.py", "b.py"]),
        ([("env.A=1", "env.B=2"), ("env.A=2", "env.B=2")], ["A=1", "A=2"]),
        ([("a.lr=1", "b.lr=2"), ("a.lr=2", "b.lr=3")], ["a.lr=1 b.lr=2", "a.lr=2 b.lr=3"]),
        ([("m.sizes=[64,64]",), ("m.sizes=[256]",)], ["sizes=[64,64]", "sizes=[256]"]),
        ([(), ("a.lr=2",)], ["", "lr=2"]),
        ([("a=1",), ("a=1",)], ["", ""]),
        ([], []),
    ],
)
def test_a_name_is_what_others_do_not_have(sets, names):
    assert told_apart(sets) == names


def test_sets_that_differ_in_their_order_alone_are_told_apart_by_all_of_it():
    sets = [("command=[--a=1, --b=2]",), ("command=[--b=2, --a=1]",)]
    assert told_apart(sets) == [sets[0][0], sets[1][0]]


def test_a_command_that_is_no_list_is_one_text():
    assert told_apart([("command=oops",), ("command=[a",)]) == ["command=oops", "command=[a"]


def test_what_differs_is_found_by_name():
    assert differences([("x.lr=1", "n=2"), ("x.lr=2", "n=2")]) == [{"lr": "lr=1"}, {"lr": "lr=2"}]
