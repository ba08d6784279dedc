"""What the feature ``learning`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Verb

FEATURE = Feature(
    name="learning",
    verbs={
        "learning": Verb(
            command="reprokit.features.learning.verb:command",
            help="Say whether a run learned, and if not, where to look.",
            now="runs learning",
        ),
    },
    subverbs={"runs": {"learning": "reprokit.features.learning.verb:command"}},
)
