"""Digests: the same for the same bits, another for one flipped bit, named by what they are of."""

import json
import random

import gymnasium
import numpy as np
import pytest
import torch

from reprokit.runtime.trace import Trace, digest, random_digests

pytestmark = pytest.mark.usefixtures("global_state")


def test_one_flipped_bit_is_another_digest():
    tensor = torch.rand(1000)
    flipped = tensor.clone()
    flipped.view(torch.int32)[617] ^= 1
    assert digest(flipped) != digest(tensor)
    assert digest(tensor.clone()) == digest(tensor)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.tensor([0.0]), torch.tensor([-0.0])),
        (torch.zeros(4), torch.zeros(2, 2)),
        (torch.zeros(2), torch.zeros(1, dtype=torch.float64)),
        (torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ([1, [2, 3]], [[1, 2], 3]),
        (["ab", "c"], ["a", "bc"]),
        ({"a": "b"}, ["a", "b"]),
        (1, 1.0),
        (True, 1),
        (None, "None"),
        (b"1", "1"),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
    ],
)
def test_different_values_have_different_digests(one, other):
    assert digest(one) != digest(other)


def test_a_view_has_the_digest_of_its_values():
    tensor = torch.arange(12.0).view(3, 4)
    assert digest(tensor.T) == digest(tensor.T.contiguous())


def test_nan_equals_its_own_bits():
    assert digest(torch.tensor([float("nan")])) == digest(torch.tensor([float("nan")]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.uint8])
def test_any_type_of_tensor_is_digested(dtype):
    assert len(digest(torch.ones(3, dtype=dtype))) == 32


def test_an_empty_tensor_and_a_scalar_are_digested():
    assert digest(torch.zeros(0)) != digest(torch.zeros(()))


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (random.random, "python"),
        (np.random.rand, "numpy"),
        (lambda: torch.rand(1), "torch"),
    ],
)
def test_a_draw_changes_the_digest_of_its_generator_alone(draw, name):
    before = random_digests()
    draw()
    after = random_digests()
    assert {one for one in before if before[one] != after[one]} == {name}


def test_generators_and_environments_are_digested_by_name():
    noise, env = np.random.default_rng(0), gymnasium.make("CartPole-v1")
    env.reset(seed=0)
    given = {"generators": {"noise": noise}, "environments": [env]}
    before = random_digests(**given)
    env.step(0)
    assert random_digests(**given)["environment[0]"] != before["environment[0]"]
    noise.random()
    assert random_digests(**given)["noise"] != before["noise"]


def test_an_update_is_one_record_that_names_every_tensor(tmp_path):
    model = torch.nn.Linear(2, 1)
    with Trace(tmp_path / "trace.jsonl") as trace:
        for step in (8, 16):
            trace.update(
                step=step,
                parameters=dict(model.named_parameters()),
                gradients={"weight": torch.zeros(1, 2)},
                optimizer={"mean": torch.zeros(3)},
            )
        assert trace.updates == 2
    first, second = map(json.loads, (tmp_path / "trace.jsonl").read_text().splitlines())
    assert (first["update"], first["step"], second["update"], second["step"]) == (1, 8, 2, 16)
    assert set(first["parameters"]) == {"weight", "bias"}
    assert set(first["gradients"]) == {"weight"}
    assert set(first["optimizer"]) == {"mean"}
    assert set(first["random"]) == {"python", "numpy", "torch"}
    assert first["parameters"] == second["parameters"]


def test_tensors_are_asked_for_only_where_they_are_digested(tmp_path):
    model, asked = torch.nn.Linear(2, 1), []

    def state():
        asked.append(trace.updates)
        return {"mean": torch.zeros(3)}

    with Trace(tmp_path / "asked.jsonl") as trace:
        for step in range(18):
            trace.update(step=step, parameters=model.named_parameters, optimizer=state, every=16)
    assert asked == [1, 2, 3, 4, 5, 6, 7, 8, 17]
    with Trace(tmp_path / "given.jsonl") as trace:
        trace.update(step=0, parameters=dict(model.named_parameters()), optimizer=state())
    first, given = ((tmp_path / name).read_text().splitlines()[0] for name in ("asked.jsonl", "given.jsonl"))
    assert first == given


def test_a_resumed_trace_numbers_on(tmp_path):
    with Trace(tmp_path / "trace.jsonl") as trace:
        trace.resume_at(5)
        trace.update(step=48, parameters={})
    assert json.loads((tmp_path / "trace.jsonl").read_text())["update"] == 6


def traced_seeds(path, environments):
    with Trace(path / "trace.jsonl") as trace:
        trace.update(step=1, parameters={}, environments=environments)
        return trace.seeds_in_use


def test_an_environment_that_is_reset_with_its_seed_is_found_with_it(tmp_path):
    environment = gymnasium.make("CartPole-v1")
    environment.reset(seed=7)
    environment.reset()
    assert traced_seeds(tmp_path, [environment]) == {"environment[0]": [7]}


def test_an_environment_that_is_reset_without_its_seed_is_found_with_another(tmp_path):
    environment = gymnasium.make("CartPole-v1")
    environment.reset()
    (seed,) = traced_seeds(tmp_path, [environment])["environment[0]"]
    assert isinstance(seed, int)
    assert seed > 1_000_000


def test_looking_at_an_environment_that_has_no_generator_makes_none(tmp_path):
    environment = gymnasium.make("CartPole-v1")
    assert traced_seeds(tmp_path, [environment]) == {"environment[0]": [None]}
    assert environment.unwrapped._np_random is None


def test_a_generator_that_was_put_in_by_hand_and_a_foreign_environment_are_told_apart(tmp_path):
    environment = gymnasium.make("CartPole-v1")
    environment.unwrapped.np_random = np.random.default_rng(3)

    class Foreign:
        pass

    assert traced_seeds(tmp_path, [environment, Foreign()]) == {
        "environment[0]": [-1],
        "environment[1]": ["unknown"],
    }


def test_every_seed_that_an_environment_had_is_kept_once(tmp_path):
    environment = gymnasium.make("CartPole-v1")
    with Trace(tmp_path / "trace.jsonl") as trace:
        for seed in (1, 1, 2):
            environment.reset(seed=seed)
            trace.update(step=seed, parameters={}, environments=[environment])
        assert trace.seeds_in_use == {"environment[0]": [1, 2]}


def test_digests_of_the_whole_state_stand_in_the_first_eight_updates_and_then_in_one_of_so_many(tmp_path):
    weight = torch.ones(2)
    with Trace(tmp_path / "trace.jsonl") as trace:
        for step in range(1, 35):
            state = {"mean": weight}
            trace.update(
                step=step,
                parameters={"w": weight},
                gradients={"w": weight},
                optimizer=state,
                samples=[step],
                every=16,
            )
    records = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    for key in ("parameters", "gradients", "optimizer", "random"):
        assert [one["update"] for one in records if key in one] == [*range(1, 9), 17, 33]
    assert [one["samples"]["ids"] for one in records] == [str(step) for step in range(1, 35)]
