"""Variation ``user_and_home``: another home folder, and another user's name in the variables."""

from reprokit.variations import RunPlace, Variation

ORDER = 80
SAYS = "the home folder and the user's name"


def vary(there: RunPlace) -> Variation:
    """The change."""
    home = f"{there.folder}/h"
    return Variation(
        category="environment",
        fix="make it a setting",
        environment={"HOME": home, "USER": "somebody", "LOGNAME": "somebody"},
        start=("--folder", home),
    )
