"""Bundles on disk: one archive that a reviewer can reproduce a result from, on another machine."""

from reprokit.bundles.archive_form import SUFFIXES, UnpackLimits
from reprokit.bundles.manifest import FORMAT, BundleManifest
from reprokit.bundles.reading import Unpacked, unpack
from reprokit.bundles.secret_files import why_secret
from reprokit.bundles.writing import Packed, write

__all__ = [
    "FORMAT",
    "SUFFIXES",
    "BundleManifest",
    "Packed",
    "UnpackLimits",
    "Unpacked",
    "unpack",
    "why_secret",
    "write",
]
