"""What the feature ``locking`` brings."""

from __future__ import annotations

from reprokit.feature import Feature

FEATURE = Feature(
    name="locking",
    subverbs={"image": {"lock": "reprokit.features.locking.verb:lock_packages"}},
    offers={
        "lock_from": "reprokit.features.locking.own_variants:lock_from_file",
        "lock_of_pins": "reprokit.features.locking.pinned:lock_of_pins",
        "lock_must_not_contradict": "reprokit.features.locking.contradictions:must_not_contradict",
        "lock_with": "reprokit.features.locking.changed_lock:lock_with",
    },
)
