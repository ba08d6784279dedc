"""A stand-in for ``nvidia-smi``: a program of that name that answers the queries that reprokit makes.

It is no recording of a real one: none was at hand. Its lines have the form that NVIDIA's manual gives for
``--format=csv,noheader,nounits``, with the values that a test wants.
"""

from __future__ import annotations

from pathlib import Path

_SCRIPT = """#!/bin/sh
# A stand-in: it answers two queries.
case "$1" in
--query-gpu=*{unknown}*)
    echo 'Field "{unknown}" is not a valid field to query.'; exit 2 ;;
--query-gpu=*) printf '%s' '{gpus}'; exit {code} ;;
--query-compute-apps=*) printf '%s' '{apps}'; exit 0 ;;
esac
exit 9
"""


def gpu_line(
    index: int = 0,
    *,
    name: str = "NVIDIA H200",
    driver: str = "580.65.06",
    mig: str = "Disabled",
    errors: str = "0",
    free_mib: int = 143_155,
    reasons: str = "0x0000000000000001",
) -> str:
    """A line of ``--query-gpu``."""
    return f"{index}, GPU-{index}abc, {name}, {driver}, {mig}, {errors}, {free_mib}, 143771, {reasons}\n"


def app_line(index: int, pid: int, name: str = "/usr/bin/python3") -> str:
    """A line of ``--query-compute-apps``."""
    return f"GPU-{index}abc, {pid}, {name}\n"


def install(
    folder: Path, *, gpus: str, apps: str = "", unknown: str = "no.such.field", code: int = 0
) -> Path:
    """Put the program into a folder, for the front of PATH; gives that folder."""
    folder.mkdir(exist_ok=True)
    program = folder / "nvidia-smi"
    program.write_text(_SCRIPT.format(gpus=gpus, apps=apps, unknown=unknown, code=code))
    program.chmod(0o755)
    return folder
