"""Wheels of packages that are distributed as source only, built with the build tools of their date.

``setup.py`` of a package of 2021 need not run with the setuptools of today. The index says when an archive
was uploaded, and uv then takes no build tool that is newer.

    >>> build_wheel("gym==0.21.0", Path("wheels"), python="3.8", on_progress=print)
    building gym==0.21.0 with Python 3.8 and build tools up to 2021-10-07
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Mapping
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


def build_wheel(requirement: str, folder: Path, *, python: str, on_progress: Progress) -> None:
    """Put a wheel of ``name==version`` into a folder.

    Args:
        requirement: The package.
        folder: Where the wheel goes.
        python: The program's Python, which builds it where this host has one.
        on_progress: Called with a line before it begins.

    Raises:
        ImageError: There is no archive of its source, it cannot be built, or what comes out is for one kind
            of machine only.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-build-") as name:
        scratch = Path(name)
        described = _described(requirement, scratch, python=python)
        archive = _fetched(requirement, described, scratch)
        uploaded = described.get("upload-time")
        day = uploaded.date() + dt.timedelta(days=1) if isinstance(uploaded, dt.datetime) else None
        tools = f"build tools up to {day}" if day else "the build tools of today: its date is not known"
        on_progress(f"building {requirement} with Python {python} and {tools}")
        found = interpreters.on_this_host(python)
        command = [
            uv_program(),
            "build",
            "--no-config",
            "--quiet",
            "--wheel",
            f"--out-dir={scratch / 'made'}",
        ]
        command += [f"--python={found.path if found else sys.executable}", "--no-python-downloads"]
        command += [f"--exclude-newer={day}"] if day else []
        done = subprocess.run([*command, str(archive)], capture_output=True, text=True, check=False)
        if done.returncode:
            said = f"{done.stdout}\n{done.stderr}".strip()  # what setup.py prints is in the first
            raise ImageError(f"{requirement} cannot be built", actual=said[-1200:])
        (wheel,) = (scratch / "made").glob("*.whl")
        if not wheel.name.endswith("-none-any.whl"):
            raise ImageError(
                f"{requirement} holds compiled code, so a wheel built here is for this machine only",
                actual=wheel.name,
                fix="build a manylinux wheel of it, keep it in the repository, and name the file",
            )
        wheel_metadata.correct(wheel, on_progress=on_progress)
        (folder / wheel.name).write_bytes(wheel.read_bytes())


def _described(requirement: str, scratch: Path, *, python: str) -> Mapping[str, Any]:
    """What the index says of the archive: where it is, its hash, when it was uploaded.

    Raises:
        ImageError: It has none.
    """
    wanted, output = scratch / "wanted.in", scratch / "pylock.toml"
    wanted.write_text(f"{requirement}\n", encoding="utf-8")
    command = [uv_program(), "pip", "compile", "--quiet", "--no-config", "--no-header", "--no-deps"]
    command += ["--generate-hashes", "--format=pylock.toml", f"--python-version={python.rstrip('t')}"]
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
