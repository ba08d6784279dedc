"""Variation ``user_and_home``: another home folder, and another user's name in the variables."""

from reprokit.variations import There, Variation

ORDER = 80
SAYS = "the home folder and the user's name"


def vary(there: There) -> Variation:
    """The change."""
    home = f"{there.folder}/h"
    return Variation(
        category="environment",
        fix="make it a setting",
        environment={"HOME": home, "USER": "somebody", "LOGNAME": "somebody"},
        start=("--folder", home),
    )
