"""Filling in ``{seed}``, ``{run_dir}`` and the like, once the backend knows its paths.

This module knows which placeholders a run has; it refuses to know shells and format languages:
braces that are no placeholder (JSON on a command line) stay as they are.

    >>> fill("--seed {seed} --set {lr}", {"seed": "7"})
    '--seed 7 --set {lr}'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath

from reprokit.core.records import RunSpec
from reprokit.errors import UsageError

_BUILT_IN = ("seed", "device", "run_dir", "python", "mounts")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace every ``{name}`` whose name is in ``values``; a value is never searched again."""
    return re.sub(r"\{([^{}]*)\}", lambda match: values.get(match[1], match[0]), text)


def fill_folder(path: str, values: Mapping[str, str]) -> str:
    """As ``fill``, for a folder that begins with a placeholder; a path of the host is taken as it is.

    >>> fill_folder("/home/{seed}", {"seed": "7"})
    '/home/{seed}'
    """
    return fill(path, values) if path.startswith("{") else path


def placeholders(spec: RunSpec, *, run_dir: str, mounts: str, python: str) -> dict[str, str]:
    """What each placeholder of a run stands for.

    Args:
        spec: The run.
        run_dir: The folder that the program may write to, as the program sees it.
        mounts: The folder that holds the mounts, as the program sees it.
        python: The interpreter, as the program sees it.

    Raises:
        UsageError: A mount's name is no plain file name, is taken, or is there twice.
    """
    values = {
        "seed": str(spec.seed),
        "device": spec.device,
        "run_dir": run_dir,
        "python": python,
        "mounts": mounts,
    }
    for mount in spec.mounts:
        if mount.name in {*values, "", ".", ".."} or PurePath(mount.name).name != mount.name:
            raise UsageError(
                "this name cannot be given to a mount",
                where=spec.recipe,
                expected=f"a plain, unique file name other than {', '.join(_BUILT_IN)}",
                actual=repr(mount.name),
            )
        values[mount.name] = f"{mounts}/{mount.name}"
    return values
