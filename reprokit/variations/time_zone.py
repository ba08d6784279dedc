"""Variation ``time_zone``: fourteen hours ahead."""

from reprokit.variations import There, Variation

ORDER = 60
SAYS = "the time zone"


def vary(there: There) -> Variation:  # noqa: ARG001 - the same anywhere
    """The change."""
    return Variation(
        category="environment",
        fix="name the time zone: datetime.fromtimestamp(…, tz=UTC)",
        environment={"TZ": "Pacific/Kiritimati"},
    )
