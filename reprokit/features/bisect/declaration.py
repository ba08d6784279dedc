"""What the feature ``bisect`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="bisect",
    verbs={
        "bisect": Verb(
            command="reprokit.features.bisect.verb:command",
            help="Find the commit that changed a recipe's numbers.",
            heading=Heading.RESULTS,
        ),
    },
)
