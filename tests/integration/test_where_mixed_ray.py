"""A Ray cluster whose second node says that it has another CPU: each run goes to a node of its own kind."""

from __future__ import annotations

import pytest

from support import other_cpu, places
from support.places import record_of
from support.ray_node import node_within
from support.sweep_program import RECIPE

#: A cluster, and for every run a process of the tool.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_split_sends_every_seed_to_a_node_of_each_kind(tmp_path):
    theirs = places.repository(tmp_path / "theirs", recipe=f"{RECIPE}machines: split\n")
    with places.opened("ray") as ray:
        ray.cluster.say("kill")
        with node_within(other_cpu.named(tmp_path, "Other CPU"), ray, tmp_path / "node.log"):
            answer = ray.sweep(theirs.root, "train", "--seeds", "3,4").answer()
    assert (answer.code, answer.states) == (0, ["complete"] * 4), answer.said
    assert "split: every seed on each of 2 kinds of machines" in answer.said
    seeds: dict[tuple[str, str], list[int]] = {}
    for member, folder in zip(answer.told["members"], answer.runs(theirs.root), strict=True):
        machine = record_of(folder)["machine"]
        assert machine["fingerprint"] == member["kind"]
        seeds.setdefault((machine["fingerprint"], machine["node"]), []).append(member["seed"])
    assert list(seeds.values()) == [[3, 4], [3, 4]], "a kind is a node here"
    assert answer.told["mixed"] is False
