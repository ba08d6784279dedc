"""AdamW on one vector is torch's fused AdamW, bit for bit, and its paper's formula; only matrices decay."""

import math

import pytest

torch = pytest.importorskip("torch")

from recipes.parts.flat_adamw import FlatAdamW  # noqa: E402

BETAS, EPSILON, DECAY = (0.9, 0.99), 1e-8, 0.1


def a_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2))


def an_optimizer(model, *, weight_decay=DECAY):
    return FlatAdamW(model, weight_decay=weight_decay, betas=BETAS, epsilon=EPSILON)


@pytest.fixture
def model():
    return a_model()


@pytest.fixture
def adam(model):
    return an_optimizer(model)


def test_it_is_torchs_adamw_bit_for_bit_at_a_changing_learning_rate(model, adam):
    """The kernel is a private function of torch: this fails when it is gone, or computes something else."""
    copy = a_model()
    matrices = [one for one in copy.parameters() if one.dim() >= 2]
    vectors = [one for one in copy.parameters() if one.dim() < 2]
    groups = [{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}]
    theirs = torch.optim.AdamW(groups, lr=1.0, betas=BETAS, eps=EPSILON, fused=True)
    for count in range(1, 21):
        for ours, other in zip(model.parameters(), copy.parameters(), strict=True):
            other.grad = torch.randn_like(other)
            ours.grad.copy_(other.grad)
        for group in theirs.param_groups:
            group["lr"] = 1e-2 / count
        adam.step(learning_rate=1e-2 / count, max_norm=math.inf)
        theirs.step()
    for ours, other in zip(model.parameters(), copy.parameters(), strict=True):
        assert torch.equal(ours, other)


def test_it_is_the_formula_of_its_paper_up_to_rounding(adam):
    plain = an_optimizer(a_model())
    generator = torch.Generator().manual_seed(1)
    for count in range(1, 21):
        gradients = torch.randn(adam.gradients.shape, generator=generator)
        for one in (adam, plain):
            one.gradients.copy_(gradients)
        how = {"learning_rate": 1e-2 / count, "max_norm": 5.0}
        torch.testing.assert_close(adam.step(**how), plain.plain_step(**how))
        torch.testing.assert_close(adam.gradients, plain.gradients)
    torch.testing.assert_close(adam.values, plain.values)
    for name, tensor in adam.state_dict().items():
        torch.testing.assert_close(tensor, plain.state_dict()[name])


@pytest.mark.parametrize("step", [FlatAdamW.step, FlatAdamW.plain_step])
def test_matrices_decay_and_vectors_do_not(model, adam, step):
    with torch.no_grad():
        adam.values.fill_(1.0)
    step(adam, learning_rate=0.5, max_norm=1.0)
    for parameter in model.parameters():
        expected = 1 - 0.5 * DECAY if parameter.dim() >= 2 else 1.0
        torch.testing.assert_close(parameter.detach(), torch.full(parameter.shape, expected))


def test_long_gradients_are_scaled_down_over_both_groups_and_short_ones_left_alone(adam):
    adam.gradients.fill_(1.0)
    norm = adam.step(learning_rate=1e-3, max_norm=0.5)
    assert float(norm) == pytest.approx(math.sqrt(len(adam.values)))
    assert float(adam.gradients.norm()) == pytest.approx(0.5, rel=1e-4)
    adam.gradients.fill_(1e-6)
    adam.step(learning_rate=1e-3, max_norm=0.5)
    assert torch.all(adam.gradients == 1e-6)


def test_parameters_and_gradients_are_views_of_the_two_vectors(model, adam):
    adam.values.fill_(3.0)
    adam.gradients.fill_(4.0)
    assert all(torch.all(one == 3.0) and torch.all(one.grad == 4.0) for one in model.parameters())


def test_its_state_goes_on_in_another_one(model, adam):
    adam.gradients.fill_(0.3)
    adam.step(learning_rate=1e-3, max_norm=1.0)
    saved = {name: tensor.clone() for name, tensor in adam.state_dict().items()}
    second = an_optimizer(model)
    second.load_state_dict(saved)
    assert all(torch.equal(second.state_dict()[name], tensor) for name, tensor in saved.items())
    assert float(second.steps) == 1
