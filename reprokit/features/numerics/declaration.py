"""What the feature ``numerics`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Verb

FEATURE = Feature(
    name="numerics",
    verbs={
        "numerics": Verb(
            command="reprokit.features.numerics.verb:command",
            help="Show how operations round here; find non-portable ones.",
            now="env numerics",
        ),
    },
    subverbs={"env": {"numerics": "reprokit.features.numerics.verb:command"}},
    extends={"verify": "reprokit.features.numerics.verify_options:EXTENSION"},
)
