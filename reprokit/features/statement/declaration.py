"""What the feature ``statement`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="statement",
    subverbs={"report": {"export": "reprokit.features.statement.verb:export"}},
)
