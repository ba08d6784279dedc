"""How fast files are looked through for secrets before they go into a bundle, against reading them.

    python benchmarks/bundle_scan.py [FOLDER] [--most-mib 8]

MiB/s, median of five repeats, of the scan of a tree and of the SHA-256 of the same files, which it takes
in any case. Prints both and their ratio; there is no limit, since machines differ.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from reprokit.features.bundles.secret_files import why_secret

_PROJECT = Path(__file__).resolve().parent.parent
_REPEATS = 5

_File = tuple[str, bytes]


def files_of(folder: Path, *, most_bytes: int) -> list[_File]:
    """The first files of a folder, up to so many bytes in all."""
    found: list[_File] = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if most_bytes < len(content):
                continue
            most_bytes -= len(content)
            found.append((path.relative_to(folder).as_posix(), content))
    return found


def scan(files: Sequence[_File]) -> None:
    """Look through all files."""
    for name, content in files:
        why_secret(name, content)


def digest(files: Sequence[_File]) -> None:
    """Digest all files."""
    for _, content in files:
        hashlib.sha256(content).digest()


def speed(work: Callable[[Sequence[_File]], None], files: Sequence[_File]) -> float:
    """MiB/s in CPU time, which a busy machine changes little."""
    seconds = []
    for _ in range(_REPEATS):
        began = time.process_time()
        work(files)
        seconds.append(time.process_time() - began)
    return sum(len(content) for _, content in files) / 2**20 / median(seconds)


def main() -> None:
    """Measure the folders that are named, or the goldens and the package."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--most-mib", type=float, default=8.0)
    asked = parser.parse_args()
    for folder in asked.folders or (_PROJECT / "golden", _PROJECT / "reprokit"):
        files = files_of(folder, most_bytes=int(asked.most_mib * 2**20))
        scanned, read = speed(scan, files), speed(digest, files)
        print(
            f"{folder.name}: scan {scanned:.1f} MiB/s, SHA-256 {read:.0f} MiB/s, {read / scanned:.0f} times"
        )


if __name__ == "__main__":
    main()
