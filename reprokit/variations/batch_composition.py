"""Variation ``batch_composition``: the rows of a batch are computed in two parts where no gradient is taken.

Who serves or samples in batches that are put together by chance gets other numbers where the result of a row
depends on how many are computed with it.
"""

from reprokit.variations import RunPlace, Variation

ORDER = 250
SAYS = "with how many others a row is computed"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="nonportable_numerics",
        fix="compute rows in batches of one size, filled up where there are fewer",
        vary=("batch_composition",),
        seldom="it matters where batches are put together by chance",
    )
