"""Variation ``environment_noise``: three more variables."""

from reprokit.variations import RunPlace, Variation

ORDER = 130
SAYS = "variables that mean nothing"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="environment",
        fix="read only the variables that are meant",
        environment={"REPROKIT_NOISE": "x" * 97, "NOISE": "1", "ZZ_NOISE": ""},
    )
