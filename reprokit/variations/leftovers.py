"""Variation ``leftovers``: what earlier runs left outside their folders is there when this one begins."""

from reprokit.variations import There, Variation

ORDER = 210
SAYS = "what earlier runs left"


def vary(there: There) -> Variation:  # noqa: ARG001 - the same anywhere
    """Nothing is changed: a run that begins when others have ended, with nothing removed between them."""
    return Variation(category="leftover_state", fix="write into the run's own folder")
