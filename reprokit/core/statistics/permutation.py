"""The exact permutation test of a difference of means, for one pair of groups or thousands at once.

If nothing changed, every split of all values into "reference" and "new" was equally likely. The p-value is
the share of splits whose means differ at least as much, for each direction; the smaller one is doubled. Up to
``MAX_SPLITS`` splits all are counted; above that ``NUM_DRAWN`` are drawn, and the observed one is counted
with them, so that the p-value is never too small.

    >>> two_sided(np.array([1.0, 2, 3]), np.array([[4.0, 5, 6]]), generator=np.random.default_rng(0))
    array([0.1])
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

MAX_SPLITS = 200_000
NUM_DRAWN = 9_999
CHUNK_CELLS = 4_000_000
_OF_VALUES, _OF_SPREAD = 1e-13, 1e-12  # sums closer than this share of either are equal but for rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """Ways to choose which of ``num_all`` values are the new ones.

    Attributes:
        chosen: Shape (splits, num_all), 1.0 where a value is among the new ones, else 0.0.
        exact: Whether these are all splits, the observed one among them; else they were drawn without it.
    """

    chosen: Values
    exact: bool

    @property
    def smallest_p(self) -> float:
        """The smallest two-sided p-value that can come out."""
        count = len(self.chosen)
        return min(1.0, 2.0 / count) if self.exact else 2.0 / (count + 1)

    def most_as_extreme(self, level: float) -> int:
        """How many splits besides the observed one may be as extreme on a side for p <= level; or < 0."""
        count = len(self.chosen)
        total = count if self.exact else count + 1
        return math.floor(level / 2 * total * (1 + 1e-12)) - 1


def splits(
    num_reference: int,
    num_new: int,
    *,
    generator: np.random.Generator,
    max_splits: int = MAX_SPLITS,
    num_drawn: int = NUM_DRAWN,
) -> Splits:
    """All splits where there are at most ``max_splits``, else ``num_drawn`` random ones."""
    num_all = num_reference + num_new
    count = math.comb(num_all, num_new)
    if count <= max_splits:
        flat = np.fromiter(
            (at for combination in combinations(range(num_all), num_new) for at in combination),
            dtype=np.intp,
            count=count * num_new,
        )
        places = flat.reshape(count, num_new)
        exact = True
    else:
        keys = generator.random((num_drawn, num_all))
        places = np.argpartition(keys, num_new - 1, axis=1)[:, :num_new]
        exact = False
    chosen = np.zeros((len(places), num_all))
    np.put_along_axis(chosen, places, 1.0, axis=1)
    return Splits(chosen=chosen, exact=exact)


def two_sided(
    reference: Values, new: Values, *, generator: np.random.Generator, among: Splits | None = None
) -> Values:
    """Two-sided p-values, shape (tests,).

    Args:
        reference: Shape (n,) for all tests, or (tests, n). Finite.
        new: Shape (tests, m). Finite.
        generator: Draws the splits where there are too many to count them all.
        among: The splits, where the caller has them already.
    """
    lower, upper = one_sided(reference, new, generator=generator, among=among)
    return np.minimum(1.0, 2.0 * np.minimum(lower, upper))


def one_sided(
    reference: Values, new: Values, *, generator: np.random.Generator, among: Splits | None = None
) -> tuple[Values, Values]:
    """P-values for "the new mean is lower" and "the new mean is higher", as ``two_sided``."""
    num_tests, num_new = new.shape
    reference = np.broadcast_to(reference, (num_tests, reference.shape[-1]))
    pooled = np.concatenate([reference, new], axis=1)
    if not np.isfinite(pooled).all():
        raise ValueError("a permutation test of means takes finite values only")
    among = among or splits(reference.shape[1], num_new, generator=generator)
    pooled, rounding = _centred(pooled)
    observed = pooled[:, -num_new:].sum(axis=1)
    lower, upper = np.empty(num_tests), np.empty(num_tests)
    step = max(1, CHUNK_CELLS // len(among.chosen))
    extra = 0 if among.exact else 1
    total = len(among.chosen) + extra
    for start in range(0, num_tests, step):
        part = slice(start, start + step)
        sums = among.chosen @ pooled[part].T
        lower[part] = (np.count_nonzero(sums <= observed[part] + rounding[part], axis=0) + extra) / total
        upper[part] = (np.count_nonzero(sums >= observed[part] - rounding[part], axis=0) + extra) / total
    return lower, upper


def _centred(pooled: Values) -> tuple[Values, Values]:
    """The values of each test around their mean, at most 1 in size; which sums of them count as equal."""
    size = np.abs(pooled).max(axis=1, keepdims=True)
    scaled = pooled / np.where(size > 0, size, 1.0)
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    return centred, _OF_VALUES + _OF_SPREAD * np.abs(centred).max(axis=1)


def holm(p_values: Values) -> Values:
    """Adjusted p-values of Holm's step-down method over the last axis, at most 1.

    Source: Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    count = p_values.shape[-1]
    order = np.argsort(p_values, axis=-1, kind="stable")
    scaled = np.take_along_axis(p_values, order, axis=-1) * np.arange(count, 0, -1)
    adjusted = np.minimum(1.0, np.maximum.accumulate(scaled, axis=-1))
    found = np.empty_like(adjusted)
    np.put_along_axis(found, order, adjusted, axis=-1)
    return found
