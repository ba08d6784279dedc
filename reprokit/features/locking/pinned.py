"""A lock for this machine alone from requirements, all else kept as it was: one of many that are tried."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reprokit.errors import ImageError
from reprokit.features.locking.changed_lock import external_of
from reprokit.features.locking.solve import solve
from reprokit.images.locks import read_lock
from reprokit.layout import LOCK

_NO_SOLUTION = "No solution found"
#: The glibc for which uv knows a platform, as its second number: the newest that wheels may ask for.
_GLIBC_KNOWN = (17, 28, *range(31, 41))


def lock_of_pins(
    name: str, requirements: Sequence[str], *, constraints: Sequence[str] = (), before: str, project: Path
) -> str | None:
    """The text of a lock for the Python of an environment and this machine; None where nothing fits.

    Args:
        name: Of the environment.
        requirements: What it is to hold, as a requirements file has them.
        constraints: Versions of what is only needed by others.
        before: A lock whose versions are kept wherever they fit.
        project: The folder that holds ``images/``.

    Raises:
        ImageError: The package index could not be reached, or a requirement is none.
    """
    lock = read_lock(project)
    variant = lock.variant(name)
    with tempfile.TemporaryDirectory(prefix="reprokit-pins-") as folder:
        source, limits, output = (Path(folder) / file for file in ("pins.in", "limits.txt", LOCK))
        for file, lines in ((source, requirements), (limits, constraints)):
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        output.write_text(before, encoding="utf-8")
        try:
            return solve(
                (source,),
                output=output,
                external=external_of(variant, lock.external),
                python=variant.python,
                options=("--constraint", str(limits)),
                platform=_platform(variant.glibc),
                local_wheels=variant.local_wheels if variant.local_wheels.is_dir() else None,
                made_by="reprokit bisect --packages",
            ).text
        except ImageError as error:
            if _NO_SOLUTION in (error.actual or ""):
                return None
            raise


def _platform(glibc: str) -> str:
    """This kind of machine with the oldest glibc that has to do, as uv names it."""
    asked = int(match[1]) if (match := re.fullmatch(r"2\.(\d+)", glibc)) else _GLIBC_KNOWN[-1]
    minor = max((one for one in _GLIBC_KNOWN if one <= asked), default=_GLIBC_KNOWN[0])
    return f"{platform.machine()}-manylinux_2_{minor}"
