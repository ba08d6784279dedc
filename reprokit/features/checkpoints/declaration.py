"""What the feature ``checkpoints`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Verb

FEATURE = Feature(
    name="checkpoints",
    verbs={
        "checkpoint": Verb(
            command="reprokit.features.checkpoints.verb:command",
            help="Verify, show, compare, convert checkpoints; none is executed.",
            now="runs checkpoint",
        ),
    },
    subverbs={"runs": {"checkpoint": "reprokit.features.checkpoints.verb:command"}},
)
