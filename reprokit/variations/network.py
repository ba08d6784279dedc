"""Variation ``network``: none."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 180
SAYS = "whether there is a network"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; a run in a container never has a network."""
    if there.container:
        return VariationNotMade(why="no run in a container has a network, so no number needs one", held=True)
    if not there.network:
        return VariationNotMade(why="only root may create a network namespace on this system")
    return Variation(
        category="environment",
        fix="fetch data before the run, and name its digest",
        start=("--no-network",),
        differs=("interfaces",),
    )
