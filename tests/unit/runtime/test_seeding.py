"""Seeds: derived, distinct, handed out, remembered."""

# ruff: noqa: NPY002 - the global generators of numpy are what is tested

import random

import numpy as np
import pytest
import torch

from reprokit.errors import UsageError
from reprokit.runtime.seeding import Seeding

pytestmark = pytest.mark.usefixtures("global_state")


def drawn():
    return random.random(), float(np.random.rand()), torch.rand(1).item()


def test_one_seed_gives_the_same_numbers_from_every_library():
    Seeding(seed=42).seed_everything()
    first = drawn()
    Seeding(seed=42).seed_everything()
    assert drawn() == first


def test_another_seed_gives_other_numbers_from_every_library():
    Seeding(seed=42).seed_everything()
    first = drawn()
    Seeding(seed=43).seed_everything()
    assert all(one != other for one, other in zip(drawn(), first, strict=True))


def test_every_environment_of_every_rank_has_a_seed_of_its_own():
    seeds = [seed for rank in range(16) for seed in Seeding(seed=0, rank=rank).environment_seeds(64)]
    assert len(set(seeds)) == len(seeds)


def test_neighbouring_seeds_share_no_environment():
    seeds = [seed for one in range(200) for seed in Seeding(seed=one).environment_seeds(8)]
    assert len(set(seeds)) == len(seeds)


def test_a_stream_is_not_shifted_by_another():
    alone = Seeding(seed=1)
    crowded = Seeding(seed=1)
    crowded.derive("noise")
    crowded.environment_seeds(3)
    assert alone.derive("evaluation", 2) == crowded.derive("evaluation", 2)


def test_streams_of_different_names_differ():
    seeding = Seeding(seed=1)
    assert len({seeding.derive(name) for name in ("a", "b", "environment", "evaluation")}) == 4


def test_a_derived_seed_is_fixed_for_good():
    assert Seeding(seed=42).derive("environment") == 5412740089529193519


def test_a_shared_seed_is_the_same_on_every_rank_and_another_is_not():
    first, second = Seeding(seed=1, rank=0), Seeding(seed=1, rank=1)
    assert first.derive("weights", shared=True) == second.derive("weights", shared=True)
    assert first.derive("weights") != second.derive("weights")


def test_generators_of_their_own_repeat():
    one, other = Seeding(seed=3), Seeding(seed=3)
    assert one.numpy_generator("noise").random() == other.numpy_generator("noise").random()
    expected = torch.rand(2, generator=one.torch_generator("noise"))
    assert torch.equal(torch.rand(2, generator=other.torch_generator("noise")), expected)


def test_deterministic_algorithms_are_on_and_raise():
    Seeding(seed=0).seed_everything()
    assert torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.backends.cudnn.deterministic
    assert not torch.backends.cudnn.benchmark


def test_deterministic_algorithms_can_warn_only():
    Seeding(seed=0).seed_everything(warn_only=True)
    assert torch.is_deterministic_algorithms_warn_only_enabled()


def test_initial_weights_do_not_depend_on_what_was_drawn_before():
    def weights(num_draws):
        seeding = Seeding(seed=5)
        seeding.seed_everything()
        torch.rand(num_draws)
        with seeding.initialising():
            return torch.nn.Linear(3, 3).weight

    assert torch.equal(weights(0), weights(17))


def test_initialising_leaves_the_global_generator_as_it_was():
    seeding = Seeding(seed=5)
    seeding.seed_everything()
    before = torch.get_rng_state()
    with seeding.initialising():
        torch.rand(100)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_record_says_what_was_seeded_with_what():
    seeding = Seeding(seed=42, rank=1)
    seeding.seed_everything()
    seeds = seeding.environment_seeds(2)
    record = seeding.record()
    assert record["seed"] == 42
    assert record["rank"] == 1
    assert set(record["generators"]) == {"python", "numpy", "torch", "environment[0]", "environment[1]"}
    assert [record["generators"][f"environment[{i}]"] for i in range(2)] == seeds
    assert record["generators"]["torch"] == torch.initial_seed()
    assert (
        np.random.get_state()[1][0] == np.random.RandomState(record["generators"]["numpy"]).get_state()[1][0]
    )
    assert record["deterministic"] == {"algorithms": True, "warn_only": False}


def test_nothing_seeded_is_nothing_recorded():
    assert Seeding(seed=42).record()["generators"] == {}


@pytest.mark.parametrize(("seed", "rank"), [(-1, 0), (0, -1)])
def test_a_negative_seed_or_rank_is_refused(seed, rank):
    with pytest.raises(UsageError, match="negative"):
        Seeding(seed=seed, rank=rank)


class Draws(torch.utils.data.Dataset):
    """Every item holds a number from each global generator of the worker that made it."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.tensor([index, random.random(), np.random.rand(), torch.rand(1).item()])


@pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")  # on a single core
def test_a_loader_with_workers_repeats_in_every_library():
    def loaded():
        seeding = Seeding(seed=9)
        seeding.seed_everything()
        arguments = seeding.loader_arguments()
        loader = torch.utils.data.DataLoader(Draws(), shuffle=True, num_workers=2, **arguments)
        return torch.stack(list(loader))

    first = loaded()
    assert torch.equal(loaded(), first)
    assert len(first[..., 1:].flatten().unique()) == 24  # no two workers draw the same numbers
