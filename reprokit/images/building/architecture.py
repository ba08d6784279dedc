"""Names of kinds of CPU: Linux has one, container images and Debian another."""

from __future__ import annotations

#: As container images and Debian name it → as Linux does.
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def architecture(machine: str) -> str:
    """A machine as container images and Debian name it: ``amd64`` or ``arm64``."""
    return {value: key for key, value in MACHINES.items()}.get(machine, machine)
