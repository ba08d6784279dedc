"""What the feature ``selftest`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Verb

FEATURE = Feature(
    name="selftest",
    verbs={
        "selftest": Verb(
            command="reprokit.features.selftest.verb:command",
            help="Plant faults in copies of runs; check that each is caught.",
            now="verify --selftest-only",
        ),
    },
    extends={"verify": "reprokit.features.selftest.verify_options:EXTENSION"},
)
