"""Debian's minimal system as an archive, of this host's release and from its mirrors."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path


def minimal_system(archive: Path, *, include: Iterable[str] = ()) -> Path:
    """Write the archive, with further packages where they are named."""
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    form = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    listed = output("apt-get", "indextargets", "--format", form, "Created-By: Packages").splitlines()
    settings = [
        f"--aptopt={line.rstrip(';')}"
        for line in output("apt-config", "dump").splitlines()
        if line.startswith(("Acquire::Check-", "Acquire::http"))
    ]
    settings += [f"--include={name}" for name in include]
    sources = [line for line in listed if line.split()[2].split("-")[0] == suite]
    output("mmdebstrap", "--mode=root", "--variant=minbase", *settings, suite, str(archive), *sources)
    return archive


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
