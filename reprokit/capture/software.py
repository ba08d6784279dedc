"""The host's software: operating system, kernel, C library, and the tool itself.

This module knows what the host says of itself; it refuses to know what the training sees, which
is the probe's part.

    >>> capture_software()["tool"]["version"]
    '0.1.0'
"""

from __future__ import annotations

import os
import platform
from typing import Any

from reprokit import __version__


def capture_software() -> dict[str, Any]:
    """``os``, ``kernel``, ``libc``, ``tool`` and ``missing`` (field → reason)."""
    missing: dict[str, str] = {}
    return {
        "os": _os(missing),
        "kernel": platform.release(),
        "libc": _libc(missing),
        "tool": {
            "version": __version__,
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
        },
        "missing": missing,
    }


def _os(missing: dict[str, str]) -> dict[str, Any]:
    facts = {"system": platform.system()}
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        if mac := platform.mac_ver()[0]:
            return {**facts, "name": f"macOS {mac}"}
        missing["os.name"] = "no os-release file"
        return facts
    return {**facts, "name": release.get("PRETTY_NAME") or release.get("NAME", "")}


def _libc(missing: dict[str, str]) -> dict[str, str]:
    # confstr asks the library that is loaded; platform.libc_ver guesses from the executable's bytes.
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        name, version = "", ""
    if not version:
        missing["libc.version"] = "the C library is not glibc, which alone reports its version"
        return {"name": name or "not glibc"}
    return {"name": name, "version": version}
