"""Variation ``leftovers``: what a run with another seed left outside its folder is there."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 210
SAYS = "what earlier runs left"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The run begins when one with another seed has ended, and nothing is removed between them."""
    if there.container:
        return VariationNotMade(
            why="what a run in a container leaves outside its folder goes with it", held=True
        )
    return Variation(category="leftover_state", fix="write into the run's own folder")
