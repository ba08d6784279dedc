"""Downloads the wheels of a lock once, with pip, and checks them against its hashes.

Wheels are chosen for the target's Python and platform, not for the host's.
"""

from __future__ import annotations

import re
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from reprokit.core.records import digest
from reprokit.errors import ImageError
from reprokit.images.cache import Progress, appearing, held, mark_used
from reprokit.images.locks import Variant
from reprokit.images.packages import Package, Target, packages_for, read_packages, requirements_text
from reprokit.images.subprocesses import CommandResult, run_command

REQUIREMENTS = "requirements.txt"
_PROBE_S = 3.0
_OLDEST_GLIBC_MINOR = 5
_LEGACY_TAGS = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_REFUSED = re.compile(r"^\s*(?P<pin>\S+==\S+) from .*?:?$")


def fetch(variant: Variant, target: Target, *, cache: Path, on_progress: Progress) -> Path:
    """The folder of a target's wheels and their ``requirements.txt`` (pins and hashes), fetched if missing.

    Raises:
        ImageError: The lock does not cover the machine, a file's hash differs from the lock, or a
            download failed.
    """
    if target.machine not in variant.machines:
        raise ImageError(
            "the lock does not cover this kind of machine",
            where=str(variant.packages_path),
            expected=" or ".join(variant.machines),
            actual=target.machine,
            fix="run on one of these machines, or with a container engine that emulates one",
        )
    packages = packages_for(read_packages(variant.packages_path), target)
    text, final = requirements_text(packages), folder_of(variant, target, cache=cache)
    with held(cache, f"wheels-{final.name}", on_progress=on_progress):
        if not final.is_dir():
            with appearing(final) as partial:
                (partial / REQUIREMENTS).write_text(text, encoding="utf-8")
                _download(partial, packages, variant, target, on_progress=on_progress)
    mark_used(final)
    return final


def can_be_had(variant: Variant, *, cache: Path) -> bool:
    """Whether the wheels of a variant lie in the cache, or one of its own indexes answers."""
    targets = (Target(machine=machine, python=variant.python) for machine in variant.machines)
    return any(folder_of(variant, target, cache=cache).is_dir() for target in targets) or any(
        is_reachable(index) for index in variant.indexes
    )


def folder_of(variant: Variant, target: Target, *, cache: Path) -> Path:
    """Where the wheels of a lock are once they were fetched; named by a digest of the pins."""
    text = requirements_text(packages_for(read_packages(variant.packages_path), target))
    key = digest({"requirements": text, "machine": target.machine, "python": target.python})
    return cache / "wheels" / key.removeprefix("sha256:")[:16]


def keep(folder: Path, variant: Variant, target: Target, *, cache: Path) -> None:
    """Put a vendored folder of wheels where ``fetch`` finds it; the installer checks each hash."""
    final = folder_of(variant, target, cache=cache)
    with held(cache, f"wheels-{final.name}", on_progress=lambda _line: None):
        if not final.is_dir():
            with appearing(final) as partial:
                shutil.copytree(folder, partial, dirs_exist_ok=True)


def platform_tags(machine: str, *, glibc: str) -> list[str]:
    """Newest first, so that pip always chooses the same one of several wheels."""
    tags = []
    for minor in range(int(glibc.partition(".")[2]), _OLDEST_GLIBC_MINOR - 1, -1):
        tags.append(f"manylinux_2_{minor}_{machine}")
        if minor in _LEGACY_TAGS:
            tags.append(f"{_LEGACY_TAGS[minor]}_{machine}")
    return tags


def is_reachable(index: str) -> bool:
    """Whether anything answers there; pip would try an unreachable index for each package."""
    try:
        with urllib.request.urlopen(index, timeout=_PROBE_S):  # noqa: S310  (https, from lock.toml)
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False


class _Narrator:
    """Turns pip's lines into one line a package, and one each quarter of a big download."""

    def __init__(self, num_packages: int, on_progress: Progress) -> None:
        self._num_packages = num_packages
        self._on_progress = on_progress
        self._num_seen = 0
        self._package = ""
        self._quarter = 0

    def __call__(self, line: str) -> None:
        if match := re.match(r"\s*(?:Collecting|Processing) (\S+)", line):
            self._num_seen, self._package, self._quarter = self._num_seen + 1, Path(match[1]).name, 0
            self._on_progress(f"wheels: {self._num_seen} of {self._num_packages}, {self._package}")
        elif match := re.match(r"Progress (\d+) of (\d+)", line):
            done, total = int(match[1]), int(match[2])
            if total > 16 << 20 and done * 4 // total > self._quarter:
                self._quarter = done * 4 // total
                self._on_progress(f"wheels: {self._package}, {done >> 20} of {total >> 20} MiB")


def _download(
    folder: Path, packages: Sequence[Package], variant: Variant, target: Target, *, on_progress: Progress
) -> None:
    indexes = [index for index in variant.indexes if is_reachable(index)]
    pip = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    download = ["download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--progress-bar=raw"]
    command = [
        *pip,
        *download,
        f"--python-version={target.version}",
        "--implementation=cp",
        f"--abi={target.abi}",
        *(f"--platform={tag}" for tag in platform_tags(target.machine, glibc=variant.glibc)),
        *(f"--extra-index-url={index}" for index in indexes),
        *([f"--find-links={variant.local_wheels}"] if variant.local_wheels.is_dir() else ()),
        f"--dest={folder}",
        f"--requirement={folder / REQUIREMENTS}",
    ]
    ended = run_command(command, on_line=_Narrator(len(packages), on_progress))
    if ended.exit_code:
        raise _error(ended, variant, [index for index in variant.indexes if index not in indexes])
    num_wheels = len(list(folder.glob("*.whl")))
    if num_wheels != len(packages):
        raise ImageError(
            "pip succeeded, but did not download one wheel per package",
            where=str(variant.packages_path),
            expected=str(len(packages)),
            actual=str(num_wheels),
        )


def _error(ended: CommandResult, variant: Variant, unreachable: Sequence[str]) -> ImageError:
    text = "\n".join(ended.tail)
    where = str(variant.packages_path)
    if "DO NOT MATCH THE HASHES" in text:
        expected, got = re.findall(r"Expected sha256 (\w+)", text), re.search(r"Got\s+(\w+)", text)
        named = next((m["pin"] for line in ended.tail if (m := _REFUSED.match(line))), "a wheel")
        return ImageError(
            f"{named}: the wheel is not the one that the lock names",
            where=where,
            expected=" or ".join(f"sha256:{one}" for one in expected) or None,
            actual=f"sha256:{got[1]}" if got else None,
            fix="git diff the lock; if it is unchanged, the index serves a different file: do not use it",
        )
    missing = re.search(r"No matching distribution found for (\S+)", text)
    beside = f"; {', '.join(unreachable)} could not be reached" if unreachable else ""
    return ImageError(
        f"{missing[1]}: no index has this wheel{beside}"
        if missing
        else f"pip could not fetch the wheels{beside}",
        where=where,
        actual=ended.last_lines,
        fix="check the network and pip's configuration (pip config list), then run the command again",
    )
