"""What the feature ``rebuild`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="rebuild",
    subverbs={
        "image": {
            "verify": "reprokit.features.rebuild.verb:verify_image",
            "rebuild": "reprokit.features.rebuild.verb:rebuild_image",
        }
    },
)
