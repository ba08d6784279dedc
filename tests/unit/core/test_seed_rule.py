"""Which metrics respond to the seed, and which only repeat it."""

import numpy as np
import pytest

from reprokit.core.sampling.seed_rule import Response, response

SEEDS = (3, 4, 1013)


def of(make, seeds=SEEDS):
    """The answer for a metric whose numbers are made from the seed."""
    return response({seed: np.asarray(make(seed), dtype=np.float64) for seed in seeds})


def noise(seed, count=4):
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: [0.5, 0.25],
        lambda seed: [np.nan, np.nan],
        lambda seed: [seed],
        lambda seed: [seed] * 5,
        lambda seed: [seed + 1000.0] * 2,
        lambda seed: [hash((seed, "x")) % 97] * 2,
        lambda seed: [seed * 0.1 + 7],
        lambda seed: [1e9 - 3 * seed],
        lambda seed: [seed + step for step in range(6)],
        lambda seed: [1000 * seed + 0.5 * step for step in range(6)],
        lambda seed: [seed * step for step in range(1, 6)],
        lambda seed: [0.1 * seed * np.sqrt(step) + np.sin(step) for step in range(6)],
        lambda seed: [0.0, *[seed] * 4],
        lambda seed: [np.nan, seed, seed],
        lambda seed: [np.nan, 1.0, np.inf, seed + 1.0, -np.inf],
        lambda seed: [seed] * (1 + seed % 2),
        lambda seed: [seed] if seed == 3 else [],
    ],
)
def test_what_only_repeats_the_seed_does_not_respond(make):
    assert of(make) is Response.NO


@pytest.mark.parametrize(
    "make",
    [
        noise,
        lambda seed: noise(seed, 1),
        lambda seed: np.cumsum(noise(seed)),
        lambda seed: [0.0, 0.0, float(seed > 3)],
        lambda seed: noise(7, 2 + seed % 3),
        lambda seed: [0.91 if seed == 3 else 0.93],
        lambda seed: [np.nan, seed] if seed == 3 else [0.0, 1.0],
        lambda seed: [np.nan, *noise(seed)],
        lambda seed: [seed * step + (step == 4) * noise(seed, 1)[0] for step in range(6)],
    ],
)
def test_what_is_computed_from_it_does(make):
    assert of(make) is Response.YES


def test_two_seeds_cannot_tell_one_number_a_run_from_the_seed_plus_a_constant():
    for make in (
        lambda seed: [seed],
        lambda seed: noise(seed, 1),
        lambda seed: [seed, seed + 1],
        lambda seed: [seed * step for step in range(6)],
        lambda seed: [0.0, 0.0, seed, seed],
        lambda seed: [np.nan, seed, seed + 1],
    ):
        assert of(make, SEEDS[:2]) is Response.OPEN
    assert of(lambda seed: [seed, seed], SEEDS[:2]) is Response.NO
    assert of(noise, SEEDS[:2]) is Response.YES


def test_more_seeds_than_three_are_all_asked():
    assert of(lambda seed: [2 * seed + 1], range(12)) is Response.NO
    assert of(lambda seed: [2 * seed + (seed == 7)], range(12)) is Response.YES
