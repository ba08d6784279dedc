"""The rules of drawing against their definitions, by counts over fixed seeds."""

import numpy as np
import pytest
from scipy import stats

from recipes.parts.replay_sampling import sampler_of

KINDS = ("uniform", "time_balanced", "time_balanced_naive", "prioritised")
CAPACITY = 50
FILLS = (1, 7, 50, 51, 70, 99, 100, 101, 730)  # growing, just full, half and wholly overwritten


def filled(kind, number, *, seed=0, capacity=CAPACITY, **settings):
    sampler = sampler_of(kind, capacity, np.random.default_rng(seed), **settings)
    for i in range(number):
        sampler.added(i % capacity)
        if kind == "prioritised":
            sampler.learned(np.array([i % capacity]), np.array([(i * 7 % 11) / 3], dtype=np.float32))
    return sampler


def drawn(sampler, number):
    """How often each entry was drawn, int64 [size]; one by one where a batch is stratified."""
    alone = hasattr(sampler, "priority_exponent")
    batches = [sampler.draw(1)[0] for _ in range(number)] if alone else [sampler.draw(number)[0]]
    places = np.concatenate(batches)
    return np.bincount(places, minlength=len(sampler.probabilities()))


def probability_of_such_counts(counts, probabilities):
    expected = probabilities / probabilities.sum() * counts.sum()
    return stats.chisquare(counts, expected).pvalue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [7, 70, 730])
def test_entries_are_drawn_as_often_as_their_probabilities_say(kind, number):
    sampler = filled(kind, number)
    assert probability_of_such_counts(drawn(sampler, 2000), sampler.probabilities()) > 1e-4


@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_count_finds_a_rule_that_is_not_kept(kind):
    """The planted fault: counts of uniform drawing do not pass for those of another rule."""
    sampler, uniform = filled(kind, 730), filled("uniform", 730)
    assert probability_of_such_counts(drawn(uniform, 2000), sampler.probabilities()) < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_draws_the_same_and_another_does_not(kind):
    one, same, other = (filled(kind, 70, seed=seed) for seed in (1, 1, 2))
    first = [one.draw(16)[0].tolist() for _ in range(5)]
    assert [same.draw(16)[0].tolist() for _ in range(5)] == first
    assert [other.draw(16)[0].tolist() for _ in range(5)] != first


@pytest.mark.parametrize("number", FILLS)
def test_the_fast_and_the_plain_form_of_time_balance_are_one_distribution(number):
    fast, plain = filled("time_balanced", number), filled("time_balanced_naive", number)
    assert fast.probabilities() == pytest.approx(plain.probabilities(), rel=1e-9, abs=1e-12)
    assert fast.probabilities().sum() == pytest.approx(1)
    assert fast.draw(1000)[0].tolist() == plain.draw(1000)[0].tolist()  # and not only in the long run


@pytest.mark.parametrize("number", FILLS[1:])
def test_a_newer_entry_is_never_less_likely_than_an_older_one(number):
    chances = filled("time_balanced", number).probabilities()
    oldest = number % CAPACITY if number > CAPACITY else 0
    assert (np.diff(np.roll(chances, -oldest)) > -1e-12).all()


@pytest.mark.parametrize("capacity", [1000, 300])
def test_balance_over_time_evens_out_how_often_an_entry_is_drawn_in_its_life(capacity):
    """Drawing one for each that is added: the spread between early and late entries becomes narrower."""

    def spread(kind):
        sampler = sampler_of(kind, capacity, np.random.default_rng(5))
        times = np.zeros(1000)
        for i in range(1000):
            sampler.added(i % capacity)
            place = int(sampler.draw(1)[0][0])
            newest = i % capacity
            times[i - (newest - place) % capacity] += 1
        return stats.variation([part.mean() for part in np.array_split(times, 20)])

    assert spread("time_balanced") < 0.85 * spread("uniform")


def test_priorities_are_the_errors_to_their_exponent():
    sampler = filled("prioritised", 4, priority_exponent=0.5)
    sampler.learned(np.arange(4), np.array([0.0, -1.0, 4.0, 9.0], dtype=np.float32))
    assert sampler.probabilities() == pytest.approx(np.array([0, 1, 2, 3]) / 6, abs=1e-3)
    assert sampler.probabilities()[0] > 0


def test_a_new_entry_is_as_likely_as_the_most_surprising_one():
    sampler = filled("prioritised", 4, priority_exponent=1.0)
    sampler.learned(np.array([2]), np.array([30.0], dtype=np.float32))
    sampler.added(4)
    assert sampler.probabilities()[4] == sampler.probabilities()[2]


def test_importance_weights_undo_the_uneven_chances():
    sampler = filled("prioritised", 50, importance_exponent=1.0)
    places, weights = sampler.draw(4000)
    chances = sampler.probabilities()[places]
    assert weights * chances == pytest.approx(np.full(4000, (weights * chances)[0]), rel=1e-5)
    assert weights.max() == 1
    assert weights.dtype == np.float32
    uncorrected = filled("prioritised", 50, importance_exponent=0.0)
    assert (uncorrected.draw(64)[1] == 1).all()


def test_each_draw_of_a_batch_comes_from_a_stratum_of_its_own():
    sampler = filled("prioritised", 50)
    sampler.learned(np.arange(50), np.ones(50, dtype=np.float32))
    assert sampler.draw(50)[0].tolist() == list(range(50))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [7, 70, 730])
def test_a_sampler_put_back_draws_on_as_if_nothing_had_happened(kind, number):
    one = filled(kind, number)
    one.draw(10)
    other = sampler_of(kind, CAPACITY, np.random.default_rng(99))
    other.load_state_dict(one.state_dict())
    other.generator.bit_generator.state = one.generator.bit_generator.state
    for i in range(number, number + 200):
        assert one.draw(4)[0].tolist() == other.draw(4)[0].tolist()
        for sampler in (one, other):
            sampler.added(i % CAPACITY)
            sampler.learned(np.array([i % CAPACITY]), np.array([i % 5], dtype=np.float32))
    assert one.probabilities().tolist() == other.probabilities().tolist()
