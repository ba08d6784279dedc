"""Variation ``locale``: Turkish, whose letters I are not English ones."""

from reprokit.variations import There, Variation

ORDER = 70
SAYS = "the locale"


def vary(there: There) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        name="locale",
        says=SAYS,
        category="environment",
        fix="sort and format without the locale",
        environment={"LC_ALL": "tr_TR.UTF-8"},
    )
