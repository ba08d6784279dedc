"""Variation ``run_folder``: another path of the run's folder, hardly longer: a socket's path has a limit."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 110
SAYS = "the path of the run folder"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; every container has its run folder at one and the same place."""
    if there.container:
        why = "a run in a container has its folder at one path, whatever the host calls it"
        return VariationNotMade(why=why, held=True)
    return Variation(
        category="environment", fix="let no number depend on the path", run_folder="x", differs=("output",)
    )
