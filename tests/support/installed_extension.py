"""An extension as an installer leaves it: files in a site-packages, and a RECORD with their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path

DECLARATION = """\
from reprokit.api.extensions import Extension

EXTENSION = Extension()
"""


def hashed(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def install(
    site_packages: Path,
    files: Mapping[str, str] | None = None,
    *,
    name: str = "planted-one",
    version: str = "1.0",
    entry: str = "",
    more: Mapping[str, str] | None = None,
    pure: str = "true",
) -> Path:
    """Write a distribution, its package of ``files``, and ``more``; returns the dist-info folder."""
    package = name.replace("-", "_")
    about = f"{package}-{version}.dist-info"
    entry = entry or f"{package} = {package}:EXTENSION"
    written = {
        **{f"{package}/{file}": text for file, text in (files or {"__init__.py": DECLARATION}).items()},
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: {pure}\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[reprokit.extensions]\n{entry}\n",
        **(more or {}),
    }
    rows = []
    for file, text in written.items():
        target = site_packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
        rows.append(f"{file},{hashed(text.encode())},{len(text.encode())}")
    rows.append(f"{about}/RECORD,,")
    (site_packages / about / "RECORD").write_text("\n".join(rows) + "\n")
    return site_packages / about


def vouch_again(about: Path, file: str) -> None:
    """Have the RECORD say what a file holds now."""
    record = about / "RECORD"
    content = (about.parent / file).read_bytes()
    rows = [row for row in record.read_text().splitlines() if not row.startswith(f"{file},")]
    record.write_text("\n".join([*rows, f"{file},{hashed(content)},{len(content)}"]) + "\n")
