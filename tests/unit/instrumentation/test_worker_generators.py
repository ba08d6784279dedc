"""Generators of a worker are found wherever they hide, each once, and the global ones not at all."""

import functools
import random
import secrets

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset

from reprokit.instrumentation.reprokit_hook.worker_generators import TooMany, found, state

OF_THE_MODULE = torch.Generator()


class Noise:
    def __init__(self, generator):
        self.chance = generator


class Rows(Dataset):
    def __init__(self, generator):
        self.transforms = [Noise(generator)]

    def __len__(self):
        return 4


def _draw(generator):
    return OF_THE_MODULE, generator


@pytest.mark.parametrize(
    ("hide", "name"),
    [
        (Rows, "set.transforms[0].chance"),
        (lambda one: Subset(Rows(one), [0]), "set.dataset.transforms[0].chance"),
        (lambda one: ConcatDataset([Rows(None), Rows(one)]), "set.datasets[1].transforms[0].chance"),
        (lambda one: {"a": (one,)}, "set['a'][0]"),
        (lambda one: functools.partial(_draw, one), "set.args[0]"),
        (lambda one: lambda: one, "set.one"),
        (lambda one: Noise(one).__eq__, None),
    ],
)
@pytest.mark.parametrize("make", [random.Random, np.random.RandomState, np.random.default_rng])
def test_a_generator_is_found_in_what_holds_it(hide, name, make):
    generator = make(5)
    names = [key for key, one in found({"set": hide(generator)}).items() if one is generator]
    assert len(names) == 1
    assert name is None or names == [name]


def test_generators_of_pytorch_are_found_by_a_path():
    generator = torch.Generator()
    assert found({"set": Rows(generator)})["set.transforms[0].chance"] is generator
    assert any(one is OF_THE_MODULE for one in found({"set": _draw}).values())


def test_global_generators_and_the_systems_entropy_are_not_counted():
    hidden = [random._inst, np.random.mtrand._rand, torch.default_generator, secrets.SystemRandom()]
    assert not any(one is other for one in found({"set": hidden}).values() for other in hidden)


def test_one_that_no_path_leads_to_has_the_same_name_where_its_state_is_the_same():
    hidden = {object(): np.random.default_rng(5)}
    keys = [key for key, one in found({}).items() if one is hidden[next(iter(hidden))]]
    assert keys[0].startswith(f"a Generator in the state {state(np.random.default_rng(5))[:8]}")


def test_no_generator_is_lost_behind_another_with_the_same_path():
    hidden = {(1, 2): random.Random(1), (3, 4): random.Random(1)}
    assert {"set[..]", "set[..] (2)"} <= {*found({"set": hidden})}


def test_more_generators_than_are_looked_at_are_told():
    with pytest.raises(TooMany):
        found({"set": [np.random.default_rng(n) for n in range(300)]})
