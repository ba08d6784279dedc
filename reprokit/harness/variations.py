"""Surroundings that must not change a result, and how each is varied.

This module is the catalogue; it refuses to know what follows. Adding a variation is adding an entry.

    >>> [one.name for one in catalogue(Path("/tmp/x"))][:3]
    ['host_name', 'cpu_count', 'directory_order']
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One thing that is changed.

    Attributes:
        name: The word for it in answers.
        says: What was changed, in words.
        category: Of the cause that it is when no line can be named.
        fix: What would mend it.
        vary: What the hook is to vary.
        environment: Variables to set.
        run_folder: Another name for the folder that the program is given, or "".
    """

    name: str
    says: str
    category: str
    fix: str
    vary: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    run_folder: str = ""


def catalogue(folder: Path) -> tuple[Variation, ...]:
    """Every variation, in the order in which they are tried.

    Args:
        folder: Where folders may be made for a home, temporary files and the like.
    """
    for name in ("home", "temporary"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    threads = "1" if os.environ.get("OMP_NUM_THREADS") != "1" else "2"
    return (
        Variation(name="host_name", says="the host's name", category="environment",
                  fix="derive the value from the seed", vary=("host_name",),
                  environment={"HOSTNAME": "elsewhere"}),
        Variation(name="cpu_count", says="the number of cores that the program is told of",
                  category="environment", fix="make the number of workers a setting", vary=("cpu_count",)),
        Variation(name="directory_order", says="the order of directory listings", category="file_order",
                  fix="sort what is listed", vary=("directory_order",)),
        Variation(name="completion_order", says="the order in which tasks complete", category="concurrency",
                  fix="take results in the order in which they were asked for", vary=("completion_order",)),
        Variation(name="clock", says="the date", category="clock", fix="count steps instead of seconds",
                  vary=("clock",)),
        Variation(name="time_zone", says="the time zone", category="environment",
                  fix="name the time zone: datetime.fromtimestamp(…, tz=UTC)",
                  environment={"TZ": "Pacific/Kiritimati"}),
        Variation(name="locale", says="the locale", category="environment",
                  fix="sort and format without the locale", environment={"LC_ALL": "tr_TR.UTF-8"}),
        Variation(name="user_and_home", says="the home folder and the user's name", category="environment",
                  fix="make it a setting",
                  environment={"HOME": str(folder / "home"), "USER": "somebody", "LOGNAME": "somebody"}),
        Variation(name="temporary_folder", says="the folder for temporary files", category="environment",
                  fix="let no number depend on it", environment={"TMPDIR": str(folder / "temporary")}),
        Variation(name="working_folder", says="the path of the working folder", category="environment",
                  fix="let no number depend on it", vary=("working_folder",)),
        Variation(name="run_folder", says="the path of the run folder", category="environment",
                  fix="let no number depend on the path", run_folder="another-run-folder"),
        Variation(name="threads", says="the number of threads of the numeric libraries",
                  category="nonportable_numerics",
                  fix="fix the number of threads: torch.set_num_threads(1), OMP_NUM_THREADS=1",
                  environment=dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
                                            threads)),
        Variation(name="environment_noise", says="variables that mean nothing", category="environment",
                  fix="read only the variables that are meant", environment={"REPROKIT_NOISE": "x" * 97}),
    )  # fmt: skip
