"""Fills in ``{seed}``, ``{run_dir}`` and the like, once the backend knows its paths.

Braces that are no placeholder (JSON on a command line) stay as they are.

    >>> fill("--seed {seed} --set {lr}", {"seed": "7"})
    '--seed 7 --set {lr}'
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from reprokit.core.records import RunSpec
from reprokit.errors import UsageError

_BUILT_IN = ("seed", "device", "run_dir", "python", "mounts")
_WORD_IN_BRACES = re.compile(r"(?<!\$)\{([A-Za-z][A-Za-z_-]*)\}")
_NEARLY = 0.8  # of difflib's ratio
_UNUSED = {
    "seed": "no argument uses {seed}: the program is not given the seed",
    "run_dir": "no argument uses {run_dir}: only metrics written into the run folder are found",
}


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace every ``{name}`` whose name is in ``values``; a value is never searched again."""
    return re.sub(r"\{([^{}]*)\}", lambda match: values.get(match[1], match[0]), text)


def fill_folder(path: str, values: Mapping[str, str]) -> str:
    """As ``fill``, for a folder that begins with a placeholder; a path of the host is taken as it is.

    >>> fill_folder("/home/{seed}", {"seed": "7"})
    '/home/{seed}'
    """
    return fill(path, values) if path.startswith("{") else path


def refuse_near_misses(command: Sequence[str]) -> None:
    """Refuse a command with a placeholder that is misspelt, such as ``{rundir}``.

    Words with white space are left alone: they may be programs with braces of their own. So is ``${NAME}``.

    Raises:
        UsageError: A placeholder is nearly one of ours.
    """
    letters = {_letters(name): name for name in _BUILT_IN}
    for word in command:
        for match in _WORD_IN_BRACES.finditer("" if any(map(str.isspace, word)) else word):
            close = difflib.get_close_matches(_letters(match[1]), letters, n=1, cutoff=_NEARLY)
            if match[1] not in _BUILT_IN and close:
                meant = f"{{{letters[close[0]]}}}"
                raise UsageError(
                    f"{match[0]} is not a placeholder",
                    where=f"argument {word!r}",
                    expected=meant,
                    fix=f"write {meant}",
                )


def unused(command: Sequence[str]) -> tuple[str, ...]:
    """What it means that no argument of a plain command uses a placeholder; one sentence each.

    >>> unused(["python", "train.py", "--logdir", "{run_dir}"])
    ('no argument uses {seed}: the program is not given the seed',)
    """
    return tuple(says for name, says in _UNUSED.items() if not is_used(name, command))


def is_used(name: str, command: Sequence[str]) -> bool:
    """Whether an argument uses a placeholder.

    >>> is_used("seed", ["python", "train.py", "--seed={seed}"])
    True
    """
    return any(f"{{{name}}}" in word for word in command)


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def placeholders(spec: RunSpec, *, run_dir: str, mounts: str, python: str) -> dict[str, str]:
    """The value of each placeholder of a run; all paths are as the program sees them.

    Raises:
        UsageError: A mount's name is not a plain file name, is reserved, or is used twice.
    """
    values = {"seed": str(spec.seed), "device": spec.device, "run_dir": run_dir}
    values |= {"python": python, "mounts": mounts}
    folders: dict[str, set[str]] = {}
    for mount in spec.mounts:
        first = mount.folder or mount.name
        beside = folders.get(mount.folder)
        is_taken = first in values if beside is None else mount.name in beside
        if not _is_plain(mount.name) or not _is_plain(first) or is_taken:
            raise UsageError(
                "not a valid mount name",
                where=spec.recipe,
                expected=f"a plain, unique file name other than {', '.join(_BUILT_IN)}",
                actual=repr(mount.name),
            )
        if mount.folder:
            folders.setdefault(first, set()).add(mount.name)
        values[first] = f"{mounts}/{first}"
    return values


def _is_plain(name: str) -> bool:
    """Whether it names a file of a folder, and no other place."""
    return name not in {"", ".", ".."} and PurePath(name).name == name
