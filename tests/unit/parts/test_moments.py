"""Running statistics are those of everything seen, however it came in, and survive as a model's state."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from recipes.parts.moments import Moments  # noqa: E402
from reprokit.runtime.trace import digest  # noqa: E402


@pytest.mark.parametrize("cuts", [(), (1,), (3, 3, 90), (50,)])
def test_batches_add_up_to_the_whole(cuts):
    seen = np.random.default_rng(0).normal(3, 5, size=(100, 4)).astype(np.float32)
    moments = Moments(4)
    for part in np.split(seen, cuts):
        moments.see(part)
    assert float(moments.count) == 100
    np.testing.assert_allclose(moments.mean.numpy(), seen.astype(float).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.variance.numpy(), seen.astype(float).var(axis=0), rtol=1e-12)


def test_nothing_seen_changes_nothing():
    moments = Moments()
    moments.see(np.empty(0))
    assert (float(moments.mean), float(moments.variance), float(moments.count)) == (0, 1, 0)
    assert moments.scale() == pytest.approx(1)


def test_what_is_normalised_has_mean_0_and_deviation_1():
    seen = np.random.default_rng(1).normal(-7, 0.1, size=(1000, 2))
    moments = Moments(2)
    moments.see(seen)
    even = (seen - moments.mean.numpy()) * moments.scale()
    np.testing.assert_allclose(even.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(even.std(axis=0), 1, atol=1e-5)


def test_the_statistics_are_state_of_the_model_that_holds_them():
    model = torch.nn.Linear(2, 1)
    model.seen = Moments(2)
    before = {name: digest(value) for name, value in model.state_dict().items()}
    model.seen.see(np.ones((3, 2)))
    after = {name: digest(value) for name, value in model.state_dict().items()}
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"seen.mean", "seen.variance", "seen.count"}
    other = torch.nn.Linear(2, 1)
    other.seen = Moments(2)
    other.load_state_dict(model.state_dict())
    assert other.seen.mean.tolist() == [1, 1]
    assert not any(name.startswith("seen") for name, _ in model.named_parameters())
