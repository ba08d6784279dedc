"""How many members run at one time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from reprokit.harness.sweeping.groups import side_by_side


def members(number, *, device="cpu", pinned=False, memory_gib=4.0, total_gib=64, gpus=()):
    group = SimpleNamespace(
        ready=SimpleNamespace(environment=SimpleNamespace(gpus=gpus)),
        recipe=SimpleNamespace(device=device, limits=SimpleNamespace(memory_gib=memory_gib)),
        is_pinned=pinned,
        host={"memory": {"total_bytes": total_gib * 2**30}},
    )
    return [group] * number


@pytest.mark.parametrize(
    ("groups", "num_cores", "jobs"),
    [
        (members(4), 2, 2),
        (members(5), 2, 3),
        (members(7), 4, 7),
        (members(2), 4, 4),
        (members(5), 1, 1),
        (members(5), 0, 1),
        (members(5, pinned=True), 2, 2),
        (members(5, total_gib=8), 2, 2),
        (members(5, device="tpu"), 8, 1),
        (members(5, device="cuda", gpus=(0,)), 8, 1),
        (members(5, device="cuda", gpus=(0, 2)), 8, 2),
        ([*members(2, device="cuda", gpus=(0, 1)), *members(1)], 8, 1),
    ],
)
def test_a_core_each_and_the_odd_ones_share(groups, num_cores, jobs):
    assert side_by_side(groups, num_cores=num_cores) == jobs


def test_where_the_memory_is_not_known_none_share():
    groups = members(5)
    groups[0].host = {}
    assert side_by_side(groups, num_cores=2) == 2
