"""What the tests of all formats share."""

from support.report_fixtures import (
    blank_and_harmless,
    hostile_report,
    pytest_generate_tests,
    sample_report,
    samples,
)
from support.terminal import on_terminal

__all__ = [
    "blank_and_harmless",
    "hostile_report",
    "on_terminal",
    "pytest_generate_tests",
    "sample_report",
    "samples",
]
