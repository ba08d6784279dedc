"""Curation: promoting, comparing, linting, pruning and exporting what runs leave behind."""

from reprokit.harness.curation import checkpoint_files, convert_checkpoint
from reprokit.harness.curation.export_environment import export_environment
from reprokit.harness.curation.golden_diff import GoldenDiff, compare_goldens, opened
from reprokit.harness.curation.lint import lint_goldens

__all__ = [
    "GoldenDiff",
    "checkpoint_files",
    "compare_goldens",
    "convert_checkpoint",
    "export_environment",
    "lint_goldens",
    "opened",
]
