"""Variation ``leftovers``: what a run with another seed left outside its folder is there."""

from reprokit.variations import There, Unmade, Variation

ORDER = 210
SAYS = "what earlier runs left"


def vary(there: There) -> Variation | Unmade:
    """The run begins when one with another seed has ended, and nothing is removed between them."""
    if there.container:
        return Unmade(why="what a run in a container leaves outside its folder goes with it", held=True)
    return Variation(category="leftover_state", fix="write into the run's own folder")
