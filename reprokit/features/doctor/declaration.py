"""What the feature ``doctor`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="doctor",
    verbs={
        "doctor": Verb(
            command="reprokit.features.doctor.verb:command",
            help="Check this host; print the command that fixes each problem.",
            heading=Heading.START,
        ),
    },
)
