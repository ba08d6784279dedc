"""Entropy, distance, clipped share and explained variance, each against its definition."""

import math
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from recipes.parts.policy_measures import distance_of, entropy_of, measure  # noqa: E402


def test_the_entropy_is_that_of_the_distribution():
    logits = torch.tensor([[0.0, 0.0], [math.log(0.9), math.log(0.1)]])
    expected = [math.log(2), -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))]
    assert entropy_of(logits).tolist() == pytest.approx(expected)


def test_the_estimate_of_the_distance_is_the_kl_divergence_on_average():
    torch.manual_seed(0)
    old, new = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(0.1, 1.0)
    drawn = old.sample((200_000,))
    log_ratio = new.log_prob(drawn) - old.log_prob(drawn)
    expected = torch.distributions.kl_divergence(old, new)
    assert float(distance_of(log_ratio.exp(), log_ratio)) == pytest.approx(float(expected), rel=0.05)


def test_a_rollout_tells_how_far_the_policy_moved_and_what_the_critic_knew():
    logits = torch.log(torch.tensor([[0.6, 0.4], [0.6, 0.4], [0.6, 0.4], [0.6, 0.4]]))
    batch = SimpleNamespace(
        observations=None,
        actions=torch.tensor([0, 0, 1, 1]),
        log_probs=torch.log(torch.tensor([0.6, 0.45, 0.4, 0.39])),
        values=torch.tensor([1.0, 2.0, 3.0, 4.0]),
        returns=torch.tensor([1.0, 2.0, 3.0, 6.0]),
    )
    record = measure(lambda _: (logits, None), batch, clip_range=0.2)
    assert record["policy/clip_fraction"] == 0.25  # 0.6 / 0.45 alone
    ratio = torch.tensor([1.0, 0.6 / 0.45, 1.0, 0.4 / 0.39])
    assert record["policy/approx_kl"] == pytest.approx(float((ratio - 1 - ratio.log()).mean()), abs=1e-6)
    assert record["value/magnitude"] == 2.5
    unexplained = torch.tensor([0.0, 0, 0, 2]).var() / batch.returns.var()
    assert record["value/explained_variance"] == pytest.approx(1 - float(unexplained))
