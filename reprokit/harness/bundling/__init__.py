"""Bundling: what a reviewer reproduces a result from, gathered into one archive and taken out of it again."""

from reprokit.harness.bundling.bundled_data import MOST_BYTES, BundledData
from reprokit.harness.bundling.gather_files import Bundled, gather_files
from reprokit.harness.bundling.open_bundle import OpenBundle, opened
from reprokit.harness.bundling.subject import BundleSubject, subject_of

__all__ = [
    "MOST_BYTES",
    "BundleSubject",
    "Bundled",
    "BundledData",
    "OpenBundle",
    "gather_files",
    "opened",
    "subject_of",
]
