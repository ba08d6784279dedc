"""The optimizer of XLA devices is that of the others up to rounding, and each takes the other's state over.

torch_xla is a stand-in that computes at once: tests/integration/test_xla.py has the real one.
"""

import math
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from recipes.parts.devices import adam_of, adamw_of  # noqa: E402
from recipes.parts.flat_adam import FlatAdam  # noqa: E402
from recipes.parts.flat_adamw import FlatAdamW  # noqa: E402
from recipes.parts.xla_adam import XlaAdam  # noqa: E402


@pytest.fixture
def synced(monkeypatch):
    """How often what was recorded was run."""
    calls = []
    monkeypatch.setitem(sys.modules, "torch_xla", SimpleNamespace(sync=lambda: calls.append(1)))
    return calls


def _models():
    torch.manual_seed(0)
    first = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    second = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    second.load_state_dict(first.state_dict())
    return first, second


def _pair(kind, first, second):
    matrices = [one for one in second.parameters() if one.dim() >= 2]
    vectors = [one for one in second.parameters() if one.dim() < 2]
    if kind == "adam":
        groups = [(list(second.parameters()), 0.0)]
        return FlatAdam(first, epsilon=1e-5), XlaAdam(groups, betas=(0.9, 0.999), epsilon=1e-5)
    groups = [(matrices, 0.1), (vectors, 0.0)]
    fused = FlatAdamW(first, weight_decay=0.1, betas=(0.9, 0.99), epsilon=1e-8)
    return fused, XlaAdam(groups, betas=(0.9, 0.99), epsilon=1e-8)


def _step(model, adam, inputs, *, max_norm):
    adam.gradients.zero_()
    torch.autograd.backward((model(inputs) ** 2).mean())
    return adam.step(learning_rate=1e-2, max_norm=max_norm)


@pytest.mark.parametrize("max_norm", [math.inf, 1e-3])
@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_it_steps_as_the_fused_kernel_does_and_runs_what_was_recorded(synced, kind, max_norm):
    first, second = _models()
    fused, formula = _pair(kind, first, second)
    for _ in range(20):
        inputs = torch.randn(16, 4)
        norms = [
            _step(one, adam, inputs, max_norm=max_norm) for one, adam in ((first, fused), (second, formula))
        ]
        torch.testing.assert_close(*norms)
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert len(synced) == 1 + 20, "what it was made of, then each update"


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_its_state_goes_on_with_the_fused_kernel(synced, kind):
    first, second = _models()
    fused, formula = _pair(kind, first, second)
    inputs = torch.randn(16, 4)
    _step(second, formula, inputs, max_norm=math.inf)
    first.load_state_dict(second.state_dict())
    fused.load_state_dict(formula.state_dict())
    for model, adam in ((first, fused), (second, formula)):
        _step(model, adam, inputs, max_norm=math.inf)
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_a_model_on_a_cpu_gets_the_fused_kernels():
    model = torch.nn.Linear(2, 2)
    assert isinstance(adam_of(model, epsilon=1e-8), FlatAdam)
    assert isinstance(adamw_of(model, weight_decay=0.1, betas=(0.9, 0.99), epsilon=1e-8), FlatAdamW)
