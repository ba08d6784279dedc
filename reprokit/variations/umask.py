"""Variation ``umask``: files that only their owner may read, or where that is so, the group too."""

from reprokit.variations import RunPlace, Variation

ORDER = 140
SAYS = "the umask"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="environment",
        fix="set the mode of the files that matter",
        start=("--umask", "077,027"),
        shows={"umask": ("077", "027")},
        differs=("umask",),
    )
