"""The state of NVIDIA GPUs now, as ``nvidia-smi`` tells it: who computes on them, errors, slowed clocks.

What a run is recorded with is in ``hardware``; this is for a look before it. Nothing of it is kept.

    >>> survey_gpus().gpus[0].processes
    (GpuProcess(pid=4711, name='python'),)
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

_MIB = 1 << 20
_LONGEST_S = 20
# The newer name of the field first; https://docs.nvidia.com/deploy/nvidia-smi/ (clocks event reasons).
_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_FIELDS = (
    *("index", "uuid", "name", "driver_version", "mig.mode.current"),
    *("ecc.errors.uncorrected.volatile.total", "memory.free", "memory.total"),
)
#: Bits of the reasons why clocks are below what they could be, of those that slow a training down.
_SLOWED = {
    0x04: "its power limit",
    0x08: "its hardware (temperature or power)",
    0x20: "its temperature",
    0x40: "its temperature, by hardware",
    0x80: "the power supply",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A program that computes on a GPU."""

    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """One GPU; sizes in bytes."""

    index: int  # in the order of the PCI bus
    uuid: str  # to find it by; never recorded
    name: str
    driver: str
    mig: bool  # whether it is split into slices
    uncorrected_errors: int  # of its memory, since the driver was loaded; 0 where it counts none
    free_bytes: int
    total_bytes: int
    slowed_by: tuple[str, ...] = ()
    processes: tuple[GpuProcess, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSurvey:
    """All GPUs of a host; or why they are not known, in one line."""

    gpus: tuple[GpuState, ...] = ()
    problem: str = ""


class _AskError(Exception):
    """nvidia-smi did not answer; the message says why."""


def survey_gpus() -> GpuSurvey:
    """Ask ``nvidia-smi``; what it does not answer is a problem, never a GPU that is free."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return GpuSurvey(problem="nvidia-smi is not installed")
    try:
        rows = _rows_of_gpus(program)
        told = _ask(program, "--query-compute-apps=gpu_uuid,pid,process_name")
        users: dict[str, list[GpuProcess]] = {}
        for uuid, pid, name in (_split(row, 3) for row in told):
            users.setdefault(uuid, []).append(GpuProcess(pid=int(pid), name=name.rpartition("/")[2]))
        gpus = tuple(_gpu(row, users) for row in rows)
    except (_AskError, ValueError) as error:
        return GpuSurvey(problem=f"nvidia-smi: {error}")
    if not gpus:
        return GpuSurvey(problem="nvidia-smi: it lists no GPU")
    known = {gpu.uuid for gpu in gpus}
    if stray := [uuid for uuid in users if uuid not in known]:  # such as of a slice: no one knows whose
        return GpuSurvey(
            problem=f"nvidia-smi: a program computes on {stray[0]}, which is not one of the GPUs"
        )
    return GpuSurvey(gpus=gpus)


def _rows_of_gpus(program: str) -> list[str]:
    for number, reasons in enumerate(_REASONS, start=1):
        try:
            return _ask(program, f"--query-gpu={','.join((*_FIELDS, reasons))}")
        except _AskError as error:
            if number == len(_REASONS) or reasons not in str(error):
                raise
    return []


def _gpu(row: str, users: dict[str, list[GpuProcess]]) -> GpuState:
    index, uuid, name, driver, mig, errors, free, total, reasons = _split(row, len(_FIELDS) + 1)
    bits = int(reasons, 16) if reasons.startswith("0x") else 0
    return GpuState(
        index=int(index),
        uuid=uuid,
        name=name,
        driver=driver,
        mig=mig == "Enabled",
        uncorrected_errors=int(errors) if errors.isdecimal() else 0,
        free_bytes=int(free) * _MIB,
        total_bytes=int(total) * _MIB,
        slowed_by=tuple(why for bit, why in _SLOWED.items() if bits & bit),
        processes=tuple(users.get(uuid, ())),
    )


def _split(row: str, count: int) -> list[str]:
    cells = [cell.strip() for cell in row.split(",", count - 1)]
    if len(cells) != count:
        raise ValueError(f"{count} values expected, got {row!r}")
    return cells


def _ask(program: str, query: str) -> list[str]:
    try:
        done = subprocess.run(
            [program, query, "--format=csv,noheader,nounits"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LONGEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _AskError(str(error)) from error
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise _AskError(said[0] if said else f"exit code {done.returncode}")
    return [line for line in done.stdout.splitlines() if line.strip()]
