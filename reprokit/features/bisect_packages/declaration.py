"""What the feature ``bisect_packages`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="bisect_packages",
    extends={"bisect": "reprokit.features.bisect_packages.options:EXTENSION"},
)
