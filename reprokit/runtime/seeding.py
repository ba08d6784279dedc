"""Seeds for every generator that a training program draws from, and a record of each.

    >>> seeding = Seeding(seed=42)
    >>> seeding.seed_everything()
    >>> first, second = seeding.environment_seeds(2)

Every seed is derived from the one seed, the name of its stream and an index, with numpy's
``SeedSequence`` and a ``spawn_key`` made from them. Streams of different names are independent, and
adding one shifts no other (https://numpy.org/doc/stable/reference/random/parallel.html).
"""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from reprokit.errors import UsageError
from reprokit.runtime import devices

#: What stands for the seed of an environment that does not tell it.
UNKNOWN = "unknown"

_WORD_BITS = 32


class Seeding:
    """Derives seeds, hands them to the generators, and remembers what it handed to which.

    Args:
        seed: The run's seed, not negative.
        rank: Number of this process among those that train together, from 0.

    Raises:
        UsageError: The seed or rank is negative.
    """

    def __init__(self, *, seed: int, rank: int = 0) -> None:
        if seed < 0 or rank < 0:
            raise UsageError("seed and rank cannot be negative", actual=f"seed {seed}, rank {rank}")
        self.seed = seed
        self.rank = rank
        self._generators: dict[str, int] = {}
        self._deterministic: dict[str, Any] = {}

    def derive(self, name: str, index: int = 0, *, shared: bool = False, rank: int | None = None) -> int:
        """A seed of 63 bits for one stream.

        Args:
            name: What draws from it: ``environment``, ``evaluation``, ``dropout``, …
            index: Number among streams of one name, from 0.
            shared: True for a seed that is the same on every rank, and belongs to none (initial weights).
            rank: Whose stream it is, where not this rank's: with 0 all ranks draw what the first one draws
                (the order of samples of which each rank takes its part).
        """
        rank = 0 if shared else 1 + (self.rank if rank is None else rank)
        words = hashlib.sha256(name.encode("utf-8")).digest()[:16]
        key = [int.from_bytes(words[i : i + 4], "little") for i in range(0, 16, 4)]
        sequence = np.random.SeedSequence(self.seed, spawn_key=(*key, rank, index))
        low, high = (int(word) for word in sequence.generate_state(2, np.uint32))
        derived = (high << _WORD_BITS | low) >> 1
        self._generators[f"{name}[{index}]"] = derived
        return derived

    def seed_everything(self, *, deterministic: bool = True, warn_only: bool = False) -> None:
        """Seed the global generators of Python, numpy and torch (every device), and pin torch's algorithms.

        Args:
            deterministic: Have torch use deterministic algorithms only.
            warn_only: Where it has none, warn instead of raising.
        """
        random.seed(self._global_seed("python"))
        np.random.seed(self._global_seed("numpy", bits=_WORD_BITS))  # noqa: NPY002 - the global one is meant
        torch.manual_seed(seed := self._global_seed("torch"))
        devices.seed(seed)
        if deterministic:
            # use_deterministic_algorithms() does the same and imports the compiler first (1.2 s).
            torch.set_deterministic_debug_mode("warn" if warn_only else "error")
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = deterministic
        self._deterministic = {"algorithms": deterministic, "warn_only": warn_only}

    def environment_seeds(self, num_envs: int) -> list[int]:
        """One seed for each environment of this rank, for ``env.reset(seed=…)`` of each."""
        return [self.derive("environment", index) for index in range(num_envs)]

    def numpy_generator(self, name: str, *, rank: int | None = None) -> np.random.Generator:
        """A numpy generator of its own for one stream; ``rank`` as for ``derive``."""
        return np.random.default_rng(self.derive(name, rank=rank))

    def torch_generator(self, name: str, *, device: str = "cpu", rank: int | None = None) -> torch.Generator:
        """A torch generator of its own for one stream; ``rank`` as for ``derive``."""
        return torch.Generator(device).manual_seed(self.derive(name, rank=rank))

    @contextlib.contextmanager
    def initialising(self, name: str = "model") -> Iterator[None]:
        """Inside, layers get the same initial weights on every rank, whatever was drawn before.

        torch's global CPU generator is seeded for the block, and gets its state back after it.
        """
        before = torch.get_rng_state()
        torch.default_generator.manual_seed(self.derive(name, shared=True))
        try:
            yield
        finally:
            torch.set_rng_state(before)

    def loader_arguments(self, name: str = "loader") -> dict[str, Any]:
        """What a ``torch.utils.data.DataLoader`` needs: its generator, and a seed for every worker.

        ``DataLoader(dataset, num_workers=2, **seeding.loader_arguments())``
        (https://docs.pytorch.org/docs/stable/notes/randomness.html#dataloader).
        """
        return {"generator": self.torch_generator(name), "worker_init_fn": seed_loader_worker}

    def record(self) -> dict[str, Any]:
        """What was seeded with what, for ``runtime.json``; plain JSON types."""
        return {
            "seed": self.seed,
            "rank": self.rank,
            "generators": dict(self._generators),
            "deterministic": dict(self._deterministic),
        }

    def _global_seed(self, library: str, *, bits: int = 63) -> int:
        derived = self.derive(library) % (1 << bits)
        del self._generators[f"{library}[0]"]
        self._generators[library] = derived
        return derived


def seed_in_use(environment: Any) -> int | str | None:
    """The seed that an environment's own generator was made from.

    It is read where gymnasium keeps it: asking for ``np_random_seed`` would make a generator where
    there is none, and so change the numbers.

    Returns:
        The seed; -1 where the generator was put in by hand; None where the environment was never
        seeded; ``UNKNOWN`` where it does not say.
    """
    seed = getattr(getattr(environment, "unwrapped", environment), "_np_random_seed", UNKNOWN)
    return seed if seed is None else UNKNOWN if seed == UNKNOWN else int(seed)


def seed_loader_worker(worker_id: int) -> None:  # noqa: ARG001 - torch's signature
    """Seed Python and numpy in a loader's worker from the seed that torch gave it."""
    seed = torch.initial_seed()
    random.seed(seed)
    np.random.seed(seed % 2**_WORD_BITS)  # noqa: NPY002 - the global one is meant
