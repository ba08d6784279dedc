"""What the feature ``trackers`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="trackers",
    extends={
        "reproduce": "reprokit.features.trackers.options:SINKS",
        "verify": "reprokit.features.trackers.options:SINKS",
    },
    offers={"live_sinks": "reprokit.features.trackers.live_sinks:live_sinks"},
    subverbs={"runs": {"convert": "reprokit.features.trackers.verb:command"}},
)
