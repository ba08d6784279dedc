"""What the feature ``signing`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="signing",
    subverbs={"report": {"sign": "reprokit.features.signing.verb:sign_report"}},
    extends={
        "reproduce": "reprokit.features.signing.options:SIGNS",
        "verify": "reprokit.features.signing.options:SIGNS",
        "report verify": "reprokit.features.signing.options:SIGNED",
    },
)
