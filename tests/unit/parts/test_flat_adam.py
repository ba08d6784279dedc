"""Adam on one vector is torch's fused Adam, bit for bit, and its state can be put back."""

import math

import pytest

torch = pytest.importorskip("torch")

from recipes.parts.flat_adam import FlatAdam  # noqa: E402


@pytest.fixture
def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))


def test_it_is_torchs_adam_bit_for_bit_at_a_changing_learning_rate(model):
    ours = FlatAdam(model, epsilon=1e-5)
    vector = torch.nn.Parameter(ours.values.clone())
    theirs = torch.optim.Adam([vector], lr=1.0, eps=1e-5, fused=True)
    for count in range(1, 21):
        vector.grad = torch.randn_like(vector)
        ours.gradients.copy_(vector.grad)
        theirs.param_groups[0]["lr"] = 1e-2 / count
        norm = ours.step(learning_rate=1e-2 / count, max_norm=math.inf)
        torch.testing.assert_close(norm, vector.grad.norm())
        theirs.step()
    assert torch.equal(ours.values, vector)


def test_long_gradients_are_scaled_down_and_short_ones_left_alone(model):
    adam = FlatAdam(model, epsilon=1e-5)
    adam.gradients.fill_(1.0)
    adam.step(learning_rate=1e-3, max_norm=0.5)
    assert float(adam.gradients.norm()) == pytest.approx(0.5, rel=1e-4)
    adam.gradients.fill_(1e-6)
    adam.step(learning_rate=1e-3, max_norm=0.5)
    assert torch.all(adam.gradients == 1e-6)


def test_parameters_and_gradients_are_views_of_the_two_vectors(model):
    adam = FlatAdam(model, epsilon=1e-5)
    adam.values.fill_(3.0)
    adam.gradients.fill_(4.0)
    assert all(torch.all(one == 3.0) and torch.all(one.grad == 4.0) for one in model.parameters())


def test_its_state_goes_on_in_another_one(model):
    first = FlatAdam(model, epsilon=1e-5)
    first.gradients.fill_(0.3)
    first.step(learning_rate=1e-3, max_norm=1.0)
    saved = {name: tensor.clone() for name, tensor in first.state_dict().items()}
    second = FlatAdam(model, epsilon=1e-5)
    second.load_state_dict(saved)
    assert all(torch.equal(second.state_dict()[name], tensor) for name, tensor in saved.items())
    assert float(second.steps) == 1
