"""Variation ``directory_order``: listings as if the files had been made in another order."""

from reprokit.variations import RunPlace, Variation

ORDER = 30
SAYS = "the order of directory listings"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(category="file_order", fix="sort what is listed", vary=("directory_order",))
