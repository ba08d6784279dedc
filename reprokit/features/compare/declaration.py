"""What the feature ``compare`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="compare",
    verbs={
        "compare": Verb(
            command="reprokit.features.compare.verb:command",
            help="Do two sides give the same numbers: commits, settings, packages, commands?",
            heading=Heading.START,
        ),
    },
    extends={"report verify": "reprokit.features.compare.verify_options:EXTENSION"},
)
