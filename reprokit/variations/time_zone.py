"""Variation ``time_zone``: fourteen hours ahead of UTC, or where that is the time here, twelve behind."""

import time

from reprokit.variations import RunPlace, Variation

ORDER = 60
SAYS = "the time zone"
_HOUR_S = 3600
#: Name → seconds ahead of UTC, in summer and in winter.
_ZONES = {"Pacific/Kiritimati": 14 * _HOUR_S, "Etc/GMT+12": -12 * _HOUR_S}


def vary(there: RunPlace) -> Variation:
    """The change; a system without the zone's file would take its name for UTC."""
    own = there.environment.get("TZ")
    at_home = _ZONES.get(own) if own else time.localtime().tm_gmtoff
    name, ahead_s = next((name, ahead_s) for name, ahead_s in _ZONES.items() if ahead_s != at_home)
    return Variation(
        category="environment",
        fix="name the time zone: datetime.fromtimestamp(…, tz=UTC)",
        environment={"TZ": name},
        shows={"utc_offset_s": (ahead_s,)},
    )
