"""What the features' tests share: runs made without a process, and sample reports."""

from support.harness_fixtures import fake, here, inside, make, plant, programs, recipe, repository, told
from support.report_fixtures import (
    blank_and_harmless,
    hostile_report,
    pytest_generate_tests,
    sample_report,
    samples,
)

__all__ = [
    "blank_and_harmless",
    "fake",
    "here",
    "hostile_report",
    "inside",
    "make",
    "plant",
    "programs",
    "pytest_generate_tests",
    "recipe",
    "repository",
    "sample_report",
    "samples",
    "told",
]
