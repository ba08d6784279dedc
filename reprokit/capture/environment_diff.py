"""Every field in which two environment records differ, and whether it can change numbers."""

from __future__ import annotations

from reprokit.core import fingerprint
from reprokit.core.environment_record import DifferingFact, EnvironmentRecord
from reprokit.nested_diff import differences


def diff(expected: EnvironmentRecord, actual: EnvironmentRecord) -> list[DifferingFact]:
    """The rows of a report's ``environment_diff``; see ``core.fingerprint.explain``."""
    fields = [field for field, _, _ in differences(expected, actual)]
    return fingerprint.explain(fields, expected=expected, actual=actual)
