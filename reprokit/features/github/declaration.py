"""What the feature ``github`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="github",
    subverbs={"report": {"comment": "reprokit.features.github.verb:comment"}},
)
