"""What the feature ``tables`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

_VERB = "reprokit.features.tables.verb"

FEATURE = Feature(
    name="tables",
    subverbs={
        "data": {
            "show": f"{_VERB}:show",
            "diff": f"{_VERB}:diff",
            "split": f"{_VERB}:split",
            "check-splits": f"{_VERB}:check_splits",
        }
    },
    extends={"data export": "reprokit.features.tables.options:EXPORT"},
)
