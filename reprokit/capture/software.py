"""The host's software: operating system, kernel, C library, and the tool itself."""

from __future__ import annotations

import platform
from typing import Any

from reprokit import __version__
from reprokit.capture.probe import libc


def capture_software() -> dict[str, Any]:
    """``os``, ``kernel``, ``libc``, ``tool`` and ``missing`` (field → reason)."""
    missing: dict[str, str] = {}
    return {
        "os": _os(missing),
        "kernel": platform.release(),
        "libc": libc(missing),
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
