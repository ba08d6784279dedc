"""What the feature ``kubernetes`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Verb

FEATURE = Feature(
    name="kubernetes",
    verbs={
        "export": Verb(
            command="reprokit.features.kubernetes.verb:command",
            help="Write a recipe or a sweep as jobs for Kubernetes.",
            now="runs export",
        ),
    },
    subverbs={"runs": {"export": "reprokit.features.kubernetes.verb:command"}},
)
