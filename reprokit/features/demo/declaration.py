"""What the feature ``demo`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="demo",
    verbs={
        "demo": Verb(
            command="reprokit.features.demo.verb:command",
            help="Show a verdict and a cause, in two minutes and without a program.",
            heading=Heading.START,
        ),
    },
)
