"""Ranks: who takes which samples, in which order parts are added up, what their checkpoints are good for."""

from __future__ import annotations

import json

import pytest
import torch

from reprokit.errors import CannotRunError
from reprokit.runtime.rank_settings import FIXED_ORDER, RankSettings
from reprokit.runtime.ranks import Ranks, pairwise_sum
from reprokit.runtime.trace import Trace


def fixed(world_size: int, *, shards: int = 4) -> RankSettings:
    return RankSettings(world_size=world_size, reduction=FIXED_ORDER, shards=shards)


@pytest.fixture
def trace(tmp_path):
    with Trace(tmp_path / "trace.jsonl") as opened:
        yield opened


@pytest.fixture
def vectors():
    return list(torch.randn(8, 1000, generator=torch.Generator().manual_seed(3)).unbind(0))


def record_of(trace) -> dict:
    trace.update(step=1, parameters={})
    return json.loads(trace.path.read_text().splitlines()[-1])


@pytest.mark.parametrize("world_size", [1, 2, 4, 8])
def test_sums_of_equal_groups_add_up_to_the_same_bits(vectors, world_size):
    each = len(vectors) // world_size
    groups = [pairwise_sum(vectors[rank * each : (rank + 1) * each]) for rank in range(world_size)]
    assert torch.equal(pairwise_sum(groups), pairwise_sum(vectors))


def test_another_order_has_other_bits(vectors):
    """Else the tests of the order would prove nothing."""
    one_after_the_other = sum(vectors[1:], start=vectors[0])
    assert not torch.equal(one_after_the_other, pairwise_sum(vectors))


@pytest.mark.parametrize("count", [3, 5])
def test_only_as_many_as_a_power_of_two_make_a_tree(vectors, count):
    with pytest.raises(ValueError, match="too many values"):
        pairwise_sum(vectors[:count])


@pytest.mark.parametrize("settings", [RankSettings(world_size=3), fixed(2), fixed(4, shards=8)])
@pytest.mark.parametrize("count", [0, 1, 3, 7, 64])
def test_every_sample_is_one_ranks(trace, settings, count):
    shares = [Ranks(trace, settings, rank=rank).share_of(count) for rank in range(settings.world_size)]
    assert [number for share in shares for number in range(count)[share]] == list(range(count))


def test_a_process_that_trains_alone_has_one_part_and_traces_no_collective(trace):
    parts, gradients = [], torch.ones(3)

    def of_part(part):
        parts.append(part)
        gradients.add_(2.0)
        return torch.ones(1)

    assert Ranks(trace).add_up(of_part, gradients, count=6, num_measures=1) == 1
    assert (parts, gradients.tolist()) == ([slice(0, 6)], [2.0, 2.0, 2.0])
    assert "collectives" not in record_of(trace)


def test_one_rank_adds_up_all_shards_in_their_order(trace, vectors):
    gradients = torch.zeros(1000)

    def of_part(part):
        gradients.add_(vectors[part.start])
        return torch.tensor([float(part.start), 1.0])

    measures = Ranks(trace, fixed(1)).add_up(of_part, gradients, count=4, num_measures=2)
    assert torch.equal(gradients, pairwise_sum(vectors[:4]))
    assert measures.tolist() == [0 + 1 + 2 + 3, 4]
    assert [one["name"] for one in record_of(trace)["collectives"]] == ["gradients", "measures"]


def test_a_shard_without_samples_adds_nothing(trace):
    gradients = torch.zeros(2)

    def of_part(part):
        assert part.stop > part.start
        gradients.add_(1.0)
        return torch.ones(1)

    assert Ranks(trace, fixed(1)).add_up(of_part, gradients, count=3, num_measures=1) == 3
    assert gradients.tolist() == [3.0, 3.0]


def test_a_trainer_that_shares_nothing_cannot_be_run_on_ranks(trace):
    Ranks(trace, RankSettings(world_size=2))
    with pytest.raises(CannotRunError, match="adds nothing up over them"):
        trace.update(step=1, parameters={})


def test_digests_of_collectives_are_as_seldom_as_those_of_parameters(trace):
    ranks = Ranks(trace, fixed(1))
    for step in range(1, 18):
        ranks.add_up(lambda _: torch.ones(1), torch.zeros(1), count=4, num_measures=1)
        trace.update(step=step, parameters={"weight": torch.zeros(1)}, every=16)
    records = [json.loads(line) for line in trace.path.read_text().splitlines()]
    digested = [one["update"] for one in records if "sent" in one["collectives"][0]]
    assert digested == [one["update"] for one in records if "parameters" in one]
    assert digested == [*range(1, 9), 17]


STATE = {"step": 4, "random": "of rank 0"}


def test_a_checkpoint_of_ranks_resumes_each_from_its_own_random_state(trace):
    saved = {**STATE, "ranks": {**RankSettings(world_size=2).as_saved(), "random": ["zero", "one"]}}
    resumed = Ranks(trace, RankSettings(world_size=2), rank=1).own(saved)
    assert resumed["random"] == "one"


@pytest.mark.parametrize("now", [None, RankSettings(world_size=4), fixed(2)])
def test_a_checkpoint_of_ranks_is_refused_on_others(trace, now):
    saved = {**STATE, "ranks": {**RankSettings(world_size=2).as_saved(), "random": ["zero", "one"]}}
    with pytest.raises(CannotRunError, match="of other ranks") as caught:
        Ranks(trace, now).own(saved)
    assert "world_size 2, reduction all_reduce" in str(caught.value)


def test_a_checkpoint_of_one_process_is_refused_on_ranks(trace):
    with pytest.raises(CannotRunError, match="got one process"):
        Ranks(trace, RankSettings(world_size=2)).own(STATE)


@pytest.mark.parametrize(("then", "now"), [(1, 2), (2, 4), (4, 1)])
def test_in_a_fixed_order_the_number_of_ranks_may_change(trace, then, now):
    random = [f"of {rank}" for rank in range(then)]
    saved = {**STATE, "ranks": {**fixed(then).as_saved(), "random": random}}
    assert Ranks(trace, fixed(now), rank=now - 1).own(saved)["random"] in random


def test_in_a_fixed_order_the_shards_may_not_change(trace):
    saved = {**STATE, "ranks": {**fixed(2).as_saved(), "random": ["zero", "one"]}}
    with pytest.raises(CannotRunError, match="shards 8"):
        Ranks(trace, fixed(2, shards=8)).own(saved)


def test_a_checkpoint_of_one_process_is_resumed_as_it_is(trace):
    assert Ranks(trace).own(STATE) == STATE
