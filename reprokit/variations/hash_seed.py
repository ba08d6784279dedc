"""Variation ``hash_seed``: another order of sets and another ``hash()`` of strings."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 5
SAYS = "Python's hash seed"
_NAME = "PYTHONHASHSEED"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """Another seed, where one is fixed; where none is, every run has another already."""
    fixed = there.environment.get(_NAME, "")
    if fixed in {"", "random"}:
        return VariationNotMade(why="every run has a different one already", held=True)
    return Variation(
        category="hash_order",
        fix="sort what comes out of sets",
        environment={_NAME: "20263" if fixed != "20263" else "20264"},
    )
