"""Wheels of packages that are distributed as source only, built with the build tools of their date.

``setup.py`` of a package of 2021 need not run with the setuptools of today. The index says when an archive
was uploaded, and uv then takes no build tool that is newer; where that fails, none newer than the Python.

    >>> build_wheel("gym==0.21.0", Path("wheels"), python="3.8", on_progress=print)
    building gym==0.21.0 with Python 3.8 and build tools up to 2021-10-07
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from reprokit.errors import ImageError
from reprokit.features.locking import wheel_metadata
from reprokit.images import interpreters
from reprokit.images.cache import Progress
from reprokit.images.subprocesses import uv_program
from reprokit.workspace import sha256_of

_DOWNLOAD_S = 60.0
_EPOCH_S = 1577836800  # 2020-01-01, as in the other wheels next to a lock
#: When the first release of each Python came out: https://peps.python.org/topic/release/
RELEASED = {
    "3.8": dt.date(2019, 10, 14),
    "3.9": dt.date(2020, 10, 5),
    "3.10": dt.date(2021, 10, 4),
    "3.11": dt.date(2022, 10, 24),
    "3.12": dt.date(2023, 10, 2),
    "3.13": dt.date(2024, 10, 7),
    "3.14": dt.date(2025, 10, 7),
    "3.15": dt.date(2026, 10, 1),
}


def build_wheel(
    requirement: str, folder: Path, *, python: str, allowed: Collection[str] = (), on_progress: Progress
) -> Path:
    """Put a wheel of ``name==version`` into a folder, and return its path.

    Args:
        requirement: The package.
        folder: Where the wheel goes.
        python: The program's Python, which builds it where this host has one.
        allowed: Hashes that the archive may have, ``sha256:…``; empty for any.
        on_progress: Called with a line before it begins.

    Raises:
        ImageError: There is no archive of its source, it has another hash, it cannot be built, or what comes
            out is for one kind of machine only.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-build-") as name:
        scratch = Path(name)
        described = _described(requirement, scratch, python=python)
        _must_be_allowed(requirement, described, allowed)
        archive = _fetched(requirement, described, scratch)
        found = interpreters.on_this_host(python)
        path = found.path if found else sys.executable
        uploaded, said = described.get("upload-time"), ""
        for day in _days(uploaded if isinstance(uploaded, dt.datetime) else None, python=python):
            tools = f"build tools up to {day}" if day else "the build tools of today: its date is not known"
            on_progress(f"building {requirement} with Python {python} and {tools}")
            if not (said := _build(archive, scratch / "made", python=path, day=day)):
                break
        else:
            raise ImageError(f"{requirement} cannot be built", actual=said[-1200:])
        (wheel,) = (scratch / "made").glob("*.whl")
        if not wheel.name.endswith("-none-any.whl"):
            raise ImageError(
                f"{requirement} holds compiled code, so a wheel built here is for this machine only",
                actual=wheel.name,
                fix="build a manylinux wheel of it, keep it in the repository, and name the file",
            )
        wheel_metadata.correct(wheel, on_progress=on_progress)
        return Path(shutil.copyfile(wheel, folder / wheel.name))


def check_archive(requirement: str, *, python: str, allowed: Collection[str]) -> None:
    """Do nothing where the index's archive of a package has one of these hashes, or there are none.

    Raises:
        ImageError: It has another, or there is none.
    """
    if allowed:
        with tempfile.TemporaryDirectory(prefix="reprokit-build-") as name:
            _must_be_allowed(requirement, _described(requirement, Path(name), python=python), allowed)


def _days(uploaded: dt.datetime | None, *, python: str) -> tuple[dt.date | None, ...]:
    """How new build tools may be: as new as the archive; else as the Python, where that came out later.

    What is older than its Python may need tools that did not know it, and of before 2019 none can build.
    """
    if uploaded is None:
        return (None,)
    day, released = uploaded.date() + dt.timedelta(days=1), RELEASED[python.rstrip("t")]
    return (day, released) if released > day else (day,)


def _build(archive: Path, output: Path, *, python: str, day: dt.date | None) -> str:
    """Build a wheel of an archive; what was said where that failed, else ""."""
    command = [uv_program(), "build", "--no-config", "--quiet", "--wheel", f"--out-dir={output}"]
    command += [f"--python={python}", "--no-python-downloads"]
    command += [f"--exclude-newer={day}"] if day else []
    # So that the wheel is the same wherever it is built, and with it the lock: no file has the time of today.
    variables = {**os.environ, "SOURCE_DATE_EPOCH": str(_EPOCH_S)}
    done = subprocess.run(
        [*command, str(archive)], env=variables, capture_output=True, text=True, check=False
    )
    # what setup.py prints is in the first
    return f"{done.stdout}\n{done.stderr}".strip() or "no reason" if done.returncode else ""


def _must_be_allowed(requirement: str, described: Mapping[str, Any], allowed: Collection[str]) -> None:
    has = f"sha256:{(described.get('hashes') or {}).get('sha256')}"
    if allowed and has not in allowed:
        raise ImageError(
            f"{requirement}: the archive of its source has none of the hashes in the project's file",
            expected=" or ".join(sorted(allowed)[:4]),
            actual=has,
            fix="the index serves a different file than the one that was locked: do not use it",
        )


def _described(requirement: str, scratch: Path, *, python: str) -> Mapping[str, Any]:
    """What the index says of the archive: where it is, its hash, when it was uploaded.

    Raises:
        ImageError: It has none.
    """
    wanted, output = scratch / "wanted.in", scratch / "pylock.toml"
    wanted.write_text(f"{requirement}\n", encoding="utf-8")
    command = [uv_program(), "pip", "compile", "--quiet", "--no-config", "--no-header", "--no-deps"]
    command += ["--generate-hashes", "--format=pylock.toml", f"--python-version={python.rstrip('t')}"]
    command += ["--no-python-downloads"]
    done = subprocess.run(
        [*command, f"--output-file={output}", str(wanted)], capture_output=True, text=True, check=False
    )
    packages = [] if done.returncode else tomllib.loads(output.read_text("utf-8")).get("packages") or []
    described: Mapping[str, Any] | None = packages[0].get("sdist") if packages else None
    if described is None:
        raise ImageError(
            f"{requirement} cannot be built: the index has no archive of its source",
            actual=done.stderr.strip()[-800:] or None,
        )
    return described


def _fetched(requirement: str, described: Mapping[str, Any], scratch: Path) -> Path:
    address = str(described.get("url") or (scratch / str(described.get("path"))).resolve().as_uri())
    archive = scratch / unquote(urlsplit(address).path).rpartition("/")[2]
    try:
        with urllib.request.urlopen(address, timeout=_DOWNLOAD_S) as answer:  # noqa: S310  (as the index says)
            archive.write_bytes(answer.read())
    except (OSError, ValueError) as error:
        raise ImageError(f"the source of {requirement} cannot be fetched", actual=str(error)) from error
    expected = (described.get("hashes") or {}).get("sha256")
    if expected is None or sha256_of(archive) != f"sha256:{expected}":
        raise ImageError(
            f"the source of {requirement} is not the file that the index names",
            expected=f"sha256:{expected}",
            actual=sha256_of(archive),
        )
    return archive
