"""Fills in ``{seed}``, ``{run_dir}`` and the like, once the backend knows its paths.

Braces that are no placeholder (JSON on a command line) stay as they are.

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
    """The value of each placeholder of a run; all paths are as the program sees them.

    Raises:
        UsageError: A mount's name is not a plain file name, is reserved, or is used twice.
    """
    values = {"seed": str(spec.seed), "device": spec.device, "run_dir": run_dir}
    values |= {"python": python, "mounts": mounts}
    for mount in spec.mounts:
        if mount.name in {*values, "", ".", ".."} or PurePath(mount.name).name != mount.name:
            raise UsageError(
                "not a valid mount name",
                where=spec.recipe,
                expected=f"a plain, unique file name other than {', '.join(_BUILT_IN)}",
                actual=repr(mount.name),
            )
        values[mount.name] = f"{mounts}/{mount.name}"
    return values
