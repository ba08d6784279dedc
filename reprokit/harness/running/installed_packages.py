"""Whether a virtual environment holds what was installed from its lock, as a fact of its runs.

>>> installed_facts(realisation, project=Path("."), strict=False)["installed"]["foreign"]
[]
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from reprokit.core.records import Realisation
from reprokit.images import locks, venvs


def installed_facts(realisation: Realisation, *, project: Path, strict: bool) -> dict[str, Any]:
    """What ``run.json`` says of the files of a virtual environment; nothing of an image, which has a digest.

    Args:
        realisation: The environment that the runs share.
        project: The folder that holds ``images/``.
        strict: Read every file; in a CI (variable ``CI``) that is done always.

    Raises:
        ImageError: The lock cannot be read.
    """
    folder = Path(realisation.reference)
    if realisation.kind != "venv" or not folder.is_dir():
        return {}
    variant = locks.read_lock(project).variant(realisation.variant)
    whole = strict or bool(os.environ.get("CI"))
    found = venvs.installed(variant, folder, cache=folder.parent.parent, whole=whole)
    return {"installed": found.as_fact()}
