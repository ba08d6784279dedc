"""What the feature ``compare`` brings."""

from __future__ import annotations

from reprokit.feature import Feature, Heading, Verb

FEATURE = Feature(
    name="compare",
    verbs={
        "compare": Verb(
            command="reprokit.features.compare.verb:command",
            help="Say whether two sides give the same numbers, bit for bit.",
            heading=Heading.START,
        ),
    },
    subverbs={"golden": {"tolerance": "reprokit.features.compare.verb:tolerance"}},
    extends={
        "report verify": "reprokit.features.compare.verify_options:REPORT",
        "verify": "reprokit.features.compare.verify_options:GATE",
    },
    offers={
        "rounding_from_commit": "reprokit.features.compare.rounding.of_search:rounding_from_commit",
        "rounding_from_here": "reprokit.features.compare.rounding.of_search:rounding_from_here",
        "rounding_of_golden": "reprokit.features.compare.rounding.of_golden:rounding_of_golden",
        "rounding_of_pair": "reprokit.features.compare.rounding.of_pair:rounding_of_pair",
        "twins_of_pair": "reprokit.features.compare.rounding.of_pair:twins_of_pair",
        "rounding_again": "reprokit.features.compare.rounding.of_golden:rounding_again",
    },
)
