"""What the feature ``sweeps`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="sweeps",
    verbs={
        "sweep": Verb(
            command="reprokit.features.sweeps.verb:sweep",
            help="Run recipes over seeds and settings, each run once.",
            heading=Heading.MANY_RUNS,
        ),
        "stats": Verb(
            command="reprokit.features.sweeps.verb:stats",
            help="Estimate results over seeds, with intervals.",
            heading=Heading.MANY_RUNS,
        ),
    },
)
