"""Variations applied: what can be varied on this host, and a run under changed conditions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from reprokit.capture.interpreter import find_python
from reprokit.core.records import Mount, RunSpec
from reprokit.errors import CannotRunError, UsageError
from reprokit.execution import varied_start
from reprokit.harness.running.varying import emulation
from reprokit.recipes.mistakes import did_you_mean
from reprokit.records import run_json
from reprokit.variations import RunPlace, Variation, names

_STARTER = Path(varied_start.__file__)
#: Where the package is mounted, for runs that have it.
_MOUNTED = "{mounts}/reprokit/execution/" + _STARTER.name
#: A folder of a container's own; it is gone with the container.
ELSEWHERE = "/tmp/reprokit-elsewhere"  # noqa: S108
_ASK_S = 20.0
_GPUS = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedVariations:
    """Several variations as one change; see ``Variation`` for the parts."""

    vary: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    run_folder: str = ""
    start: tuple[str, ...] = ()
    cpu: str = ""


def there(spec: RunSpec, *, folder: Path) -> RunPlace:
    """What is to be known of this host and of a run on it.

    Args:
        spec: The run.
        folder: Where homes and the like may be made; a container has its own.
    """
    inherited = dict(os.environ) if spec.inherit_environment else {}
    return there_of(
        container=in_container(spec),
        device=spec.device,
        folder=str(folder.resolve()),
        environment={**inherited, **spec.environment},
        gpu=spec.limits.gpus[0] if spec.limits.gpus else 0,
    )


def there_of(
    *, container: bool, device: str, folder: str, environment: Mapping[str, str], gpu: int = 0
) -> RunPlace:
    """The same where there is no specification yet.

    Args:
        container: Whether runs are made in containers.
        device: ``cpu``, ``cuda`` or ``tpu``.
        folder: As for ``there``; may hold placeholders.
        environment: Variables that a run has anyway.
        gpu: The GPU that it computes on.
    """
    emulator, missing = _emulator(container=container)
    return RunPlace(
        container=container,
        folder=ELSEWHERE if container else folder,
        cores=usable_cores(),
        environment=environment,
        device=device,
        num_gpus=_num_gpus(),
        gpu=gpu,
        emulator=emulator,
        no_emulator=missing,
        network=None if container else _can_unshare(),
    )


def in_container(spec: RunSpec) -> bool:
    """Whether a run is made in a container."""
    return spec.realisation is not None and spec.realisation.kind == "image"


def joined(chosen: Sequence[Variation]) -> JoinedVariations:
    """Several variations at once."""
    environment: dict[str, str] = {}
    for one in chosen:
        environment.update(one.environment)
    return JoinedVariations(
        vary=tuple(word for one in chosen for word in one.vary),
        environment=environment,
        run_folder=next((one.run_folder for one in chosen if one.run_folder), ""),
        start=tuple(word for one in chosen for word in one.start),
        cpu=next((one.cpu for one in chosen if one.cpu), ""),
    )


def changed(spec: RunSpec, *, start: Sequence[str] = (), cpu: str = "") -> RunSpec:
    """The same run, started under different conditions.

    Args:
        spec: The run.
        start: Words for ``varied_start``.
        cpu: The CPU to emulate, or "".

    Raises:
        CannotRunError: There is no emulator.
    """
    if cpu:
        emulator = emulation.find_emulator(in_container=in_container(spec))
        spec = emulation.under(spec, cpu=cpu, emulator=emulator)
    if not start:
        return spec
    mounts = spec.mounts
    if any(mount.name == "reprokit" for mount in mounts):
        python, starter = "{python}", _MOUNTED
    elif in_container(spec):
        python, starter = "{python}", f"{{mounts}}/{_STARTER.name}"
        mounts = (*mounts, Mount(name=_STARTER.name, path=str(_STARTER.resolve())))
    else:
        # The program's own, because what is installed is asked of the Python that the command begins with.
        own = find_python(spec.command) if spec.realisation is None else None
        python, starter = own or sys.executable, str(_STARTER)
    command = (python, "-I", "-S", starter, *start, "--", *spec.command)
    return replace(spec, command=command, mounts=mounts)


def refusal(log: Path) -> str:
    """Why the starter could not change what it was to change, from what a run said; "" where it did not say.

    Args:
        log: What the run wrote to stderr.
    """
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    line = next((line for line in text.splitlines() if line.startswith(varied_start.REFUSED)), "")
    return f"it cannot be changed here: {line.removeprefix(varied_start.REFUSED)}" if line else ""


def check_names(wanted: Sequence[str]) -> None:
    """See that every variation exists.

    Raises:
        UsageError: One does not; the nearest name is named.
    """
    known = names()
    for name in wanted:
        if name not in known:
            raise UsageError(f"there is no variation {name!r}", fix=did_you_mean(name, known))


def pinned_cores(run: Path) -> tuple[int, ...]:
    """The cores that a finished run had alone, as those have that are compared with it; empty for all."""
    limits = run_json.read(run).limits
    return tuple(limits.cpus or ()) if limits else ()


def usable_cores() -> tuple[int, ...]:
    """The cores that this process may use, by number."""
    return tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def _emulator(*, container: bool) -> tuple[str, str]:
    try:
        return emulation.find_emulator(in_container=container), ""
    except CannotRunError as error:
        return "", error.what


def _num_gpus() -> int:
    return len(list(_GPUS.iterdir())) if _GPUS.is_dir() else 0


def _can_unshare() -> bool:
    """Whether a process can leave the network behind: it is tried with one that does nothing."""
    command = [
        sys.executable,
        "-I",
        "-S",
        str(_STARTER),
        "--no-network",
        "--",
        sys.executable,
        "-I",
        "-S",
        "-c",
        "",
    ]
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=_ASK_S).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
