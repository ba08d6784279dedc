"""Variation ``process_id``: a process id as it is on a host that has run more programs."""

from reprokit.variations import RunPlace, Variation

ORDER = 150
SAYS = "the process id"


def vary(there: RunPlace) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="process_identity",
        fix="derive the value from the seed",
        start=("--processes", "37"),
        differs=("process_id",),
    )
