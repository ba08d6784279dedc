"""The interval of the difference of two means, for the statistical gate.

It is the wider of two at each end. One inverts the exact permutation test: it holds its level for whatever
distribution, as long as all new seeds are shifted alike. The other is Welch's, which lets the spread of the
new seeds be another one: where one of five fails, their mean is known much less well than a shift would be.
"""

from __future__ import annotations

import numpy as np

from reprokit.core.statistics import permutation
from reprokit.core.statistics.permutation import Splits, Values
from reprokit.core.statistics.quantiles import t_quantile


def difference_limits(
    reference: Values, new: Values, *, level: float, among: Splits
) -> tuple[Values, Values]:
    """Lower and upper limits, each of shape (tests,), of new mean minus reference mean.

    A true shift of all new values lies below the lower limit, or above the upper one, with a probability of
    at most ``level / 2`` each. They are infinite where the groups are too small for the level.

    Args:
        reference: Shape (tests, n), finite.
        new: Shape (tests, m), finite.
        level: Of the two-sided test.
        among: The splits of ``n + m`` values.
    """
    if min(reference.shape[1], new.shape[1]) < 2:
        return np.full(len(new), -np.inf), np.full(len(new), np.inf)
    shift, welch = (
        _shift_limits(reference, new, level=level, among=among),
        _welch_limits(reference, new, level),
    )
    return np.minimum(shift[0], welch[0]), np.maximum(shift[1], welch[1])


def _welch_limits(reference: Values, new: Values, level: float) -> tuple[Values, Values]:
    count, others = new.shape[1], reference.shape[1]
    with np.errstate(all="ignore"):  # of equal values there is no error, of huge ones no limit
        parts = [reference.var(axis=1, ddof=1) / others, new.var(axis=1, ddof=1) / count]
        error = np.sqrt(parts[0] + parts[1])
        shares = [part / error**2 for part in parts]
        freedom = 1 / (shares[0] ** 2 / (others - 1) + shares[1] ** 2 / (count - 1))
    quantile = t_quantile(np.where(error > 0, freedom, 1.0), 1 - level / 2)
    difference = new.mean(axis=1) - reference.mean(axis=1)
    return difference - quantile * error, difference + quantile * error


def _shift_limits(reference: Values, new: Values, *, level: float, among: Splits) -> tuple[Values, Values]:
    """Each shift that the permutation test would not reject, once it is taken off the new values."""
    num_tests, num_new = new.shape
    pooled = np.concatenate([reference, new], axis=1)
    pooled = pooled - pooled[:, :1]  # equal values are 0, without rounding
    # New values that a split puts into the reference.
    moved = num_new - among.chosen[:, -num_new:].sum(axis=1)
    others, moved = among.chosen[moved > 0], moved[moved > 0]
    low, high = np.full(num_tests, -np.inf), np.full(num_tests, np.inf)
    # Splits besides the observed one that may be as extreme; the observed one again is as extreme always.
    again = len(among.chosen) - len(others) - (1 if among.exact else 0)
    at = among.most_as_extreme(level) - again
    if at < 0 or at >= len(others):
        return low, high
    observed = pooled[:, -num_new:].sum(axis=1)
    step = max(1, permutation.CHUNK_CELLS // len(others))
    for start in range(0, num_tests, step):
        part = slice(start, start + step)
        # The shift at which a split is just as extreme as the observed one.
        until = (observed[part] - others @ pooled[part].T) / moved[:, None]
        ordered = np.partition(until, (at, len(others) - 1 - at), axis=0)
        low[part], high[part] = ordered[at], ordered[-1 - at]
    return low, high
