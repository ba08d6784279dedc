"""What the feature ``init`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="init",
    verbs={
        "init": Verb(
            command="reprokit.features.init.verb:command",
            help="Write a recipe for a program, from what it does.",
            heading=Heading.START,
        ),
    },
)
