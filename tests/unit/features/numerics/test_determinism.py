"""A step done twice: what repeats passes, and what does not is named."""

import random

import gymnasium
import numpy as np
import pytest
import torch

from reprokit.errors import CannotRunError
from reprokit.features.numerics.inside.determinism import verify_determinism

pytestmark = pytest.mark.usefixtures("global_state")


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))


def adam_of(model):
    return torch.optim.Adam(model.parameters(), lr=0.01)


def step_of(model, optimizer, spoil=lambda: 0.0):
    def step():
        optimizer.zero_grad()
        loss = model(torch.rand(16, 4)).pow(2).mean() + spoil()
        loss.backward()
        optimizer.step()
        return {"loss": loss.detach()}

    return step


def test_a_step_that_draws_from_seeded_generators_repeats(model):
    optimizer = adam_of(model)
    assert verify_determinism(step_of(model, optimizer), model=model, optimizer=optimizer).repeats


def test_everything_is_put_back(model):
    optimizer = adam_of(model)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    states = random.getstate(), torch.get_rng_state()
    verify_determinism(step_of(model, optimizer), model=model, optimizer=optimizer)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not optimizer.state_dict()["state"]


def test_an_unseeded_generator_is_found_in_the_output_first(model):
    optimizer, fresh = adam_of(model), np.random.default_rng()
    spoilt = step_of(model, optimizer, spoil=fresh.random)
    comparison = verify_determinism(spoilt, model=model, optimizer=optimizer)
    assert not comparison.repeats
    first = comparison.differences[0]
    assert (first.what, first.name, first.elements) == ("output", "loss", 1)
    assert first.max_abs_error > 0


def test_a_difference_names_the_parameter_and_its_size(model):
    fresh = np.random.default_rng()

    def step():
        with torch.no_grad():
            model[2].bias.add_(float(fresh.random()))

    comparison = verify_determinism(step, model=model)
    assert [(one.what, one.name, one.elements) for one in comparison.differences] == [
        ("parameter", "2.bias", 1)
    ]


def test_a_generator_of_the_programs_own_counts_once_it_is_named(model):
    noise = np.random.default_rng(0)

    def step():
        return noise.random()

    assert verify_determinism(step, model=model, generators={"noise": noise}).repeats
    assert not verify_determinism(step, model=model).repeats


def test_an_environment_that_is_not_put_back_is_found(model):
    env = gymnasium.make("CartPole-v1")
    env.reset(seed=0)

    def step():
        return torch.from_numpy(env.step(1)[0])

    assert verify_determinism(step, model=model, environments=[env]).repeats
    assert not verify_determinism(step, model=model).repeats


def test_a_hidden_counter_is_found_in_the_gradient(model):
    calls = []

    def step():
        calls.append(1)
        model.zero_grad()
        (model[0].weight.sum() * len(calls)).backward()

    found = verify_determinism(step, model=model).differences
    assert [(one.what, one.name) for one in found] == [("gradient", "0.weight")]


def test_steps_that_return_different_things_are_refused(model):
    calls = []

    def step():
        calls.append(1)
        return {f"loss{len(calls)}": 0.0}

    with pytest.raises(CannotRunError, match="loss1"):
        verify_determinism(step, model=model)
