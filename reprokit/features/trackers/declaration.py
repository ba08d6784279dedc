"""What the feature ``trackers`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="trackers",
    subverbs={"runs": {"convert": "reprokit.features.trackers.verb:command"}},
)
