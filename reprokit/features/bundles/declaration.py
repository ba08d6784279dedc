"""What the feature ``bundles`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="bundles",
    verbs={
        "bundle": Verb(
            command="reprokit.features.bundles.verb:command",
            help="Write one archive that a reviewer can reproduce a result from.",
            heading=Heading.RESULTS,
        ),
    },
    extends={"reproduce": "reprokit.features.bundles.reproduce_options:EXTENSION"},
)
