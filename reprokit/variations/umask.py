"""Variation ``umask``: files that only their owner may read."""

from reprokit.variations import There, Variation

ORDER = 140
SAYS = "the umask"


def vary(there: There) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="environment", fix="set the mode of the files that matter", start=("--umask", "077")
    )
