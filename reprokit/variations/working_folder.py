"""Variation ``working_folder``: another path of the same working folder, as Python tells it."""

from reprokit.variations import RunPlace, Variation

ORDER = 100
SAYS = "the path of the working folder"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(category="environment", fix="let no number depend on it", vary=("working_folder",))
