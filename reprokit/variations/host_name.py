"""Variation ``host_name``: another name that resolves to this host, told to Python and in HOSTNAME."""

from reprokit.variations import RunPlace, Variation

ORDER = 10
SAYS = "the host's name"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="environment",
        fix="derive the value from the seed",
        vary=("host_name",),
        environment={"HOSTNAME": "localhost"},
    )
