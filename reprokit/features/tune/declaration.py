"""What the feature ``tune`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="tune",
    verbs={
        "tune": Verb(
            command="reprokit.features.tune.verb:command",
            help="Search settings; the same trials however they are run.",
            heading=Heading.MANY_RUNS,
        ),
    },
)
