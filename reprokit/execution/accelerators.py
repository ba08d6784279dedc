"""What a run on an accelerator needs of its host, and what the container is given access to.

The variant in ``images/lock.toml`` says what the host must have and what a container opens. Kinds of
devices are named here only where a program must be given variables.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.core import numerics
from reprokit.core.records import Outcome, RunSpec
from reprokit.execution.outcome import Explanation

_DRIVER = Path("/proc/driver/nvidia/version")
_VERSION = re.compile(r"\b\d{3,}(?:\.\d+)+\b")
_CDI = (Path("/etc/cdi"), Path("/var/run/cdi"))
_TOOLKIT = "nvidia-container-runtime-hook"  # what an engine starts where its driver for GPUs is NVIDIA's
VISIBLE = "CUDA_VISIBLE_DEVICES"
_CPU, _XLA_CPU = "cpu", "xla-cpu"
_PJRT = "PJRT_DEVICE"
#: XLA splits sums among as many threads as it finds CPUs, and rounds by their number (docs/decisions/0081).
_ONE_THREAD = {"NPROC": "1"}
_GIB = 1 << 30


def variables(device: str, *, platform: str, pins_kernels: bool = True) -> dict[str, str]:
    """What variables a program must be given for its device before it starts.

    Args:
        device: ``cpu``, ``cuda`` or ``tpu``.
        platform: The platform that was asked for, or "": on ``xla-cpu`` the host's CPU stands for a TPU.
        pins_kernels: Whether a GPU's kernels are fixed too, as for our trainers; False for an unmodified
            program, whose precision is its own.
    """
    if device == numerics.CUDA and pins_kernels:
        return numerics.cuda_variables()
    if device != "tpu":
        return {}
    return {_PJRT: "CPU", **_ONE_THREAD} if platform == _XLA_CPU else {_PJRT: "TPU"}


def missing(spec: RunSpec, *, driver: Path = _DRIVER) -> Explanation | None:
    """Why a run's device is not available on this host, or None; ``driver`` is the kernel's version file."""
    needs = _needs(spec)
    if wanted := needs.get("minimum_driver"):
        found = _driver_version(driver)
        if found is None or _numbers(found) < _numbers(str(wanted)):
            has = found or "none"
            return _refused(
                f"the variant needs an NVIDIA driver of at least {wanted}, and this host has {has}",
                "update the host's driver (nvidia-smi shows it), or run the recipe with device: cpu",
            )
    devices = needs.get("devices") or ()
    if devices and not any(Path(name).exists() for name in devices):
        return _refused(
            f"the variant needs one of {', '.join(devices)}, and this host has none",
            "run on a TPU VM, or with --platform xla-cpu, which computes the same program on the CPU",
        )
    return None


def opened(spec: RunSpec) -> dict[str, Any]:
    """The engine's ``HostConfig`` settings that a run's device needs; empty for a CPU."""
    needs = _needs(spec)
    settings: dict[str, Any] = {}
    if devices := [name for name in needs.get("devices") or () if Path(name).exists()]:
        settings["Devices"] = [
            {"PathOnHost": name, "PathInContainer": name, "CgroupPermissions": "rwm"} for name in devices
        ]
    if needs.get("host_network"):
        settings["NetworkMode"] = "host"
    if gib := needs.get("shared_memory_gib"):
        settings["ShmSize"] = int(gib) * _GIB
    return settings


def gpus_of(spec: RunSpec) -> tuple[int, ...] | None:
    """The GPUs that a run sees; None for all: nothing is said, or the run's own variables choose."""
    return None if VISIBLE in spec.environment else spec.limits.gpus


def gpu_request(
    spec: RunSpec, *, cdi: Sequence[str] | None = None, toolkit: bool | None = None
) -> dict[str, Any]:
    """What the engine is asked for, to give a container the run's GPUs: by NVIDIA's toolkit, else by CDI.

    Args:
        spec: The run.
        cdi: Specifications on this host; None to look.
        toolkit: Whether NVIDIA's toolkit is on this host; None to look.
    """
    numbers = gpus_of(spec)
    there = shutil.which(_TOOLKIT) is not None if toolkit is None else toolkit
    if not there and (cdi_specifications() if cdi is None else cdi):
        names = ["all"] if numbers is None else list(map(str, numbers))
        return {"Driver": "cdi", "DeviceIDs": [f"nvidia.com/gpu={name}" for name in names]}
    which: dict[str, Any] = {"Count": -1} if numbers is None else {"DeviceIDs": list(map(str, numbers))}
    return {"Driver": "", **which, "Capabilities": [["gpu"]]}


def cdi_specifications(folders: Sequence[Path] = _CDI) -> tuple[str, ...]:
    """Files that tell an engine how containers get NVIDIA's GPUs (Container Device Interface), by path."""
    found = [path for folder in folders for path in sorted(folder.glob("*")) if _is_of_gpus(path)]
    return tuple(map(str, found))


def _is_of_gpus(path: Path) -> bool:
    return "nvidia" in path.name and path.suffix in {".yaml", ".yml", ".json"}


def relaxations(host: Mapping[str, Any], *, shared_memory_bytes: int) -> list[str]:
    """Names of what was opened beyond the hardened default, from the reported ``HostConfig``."""
    found = ["gpu devices"] if host.get("DeviceRequests") else []
    found += [f"device {one['PathOnHost']}" for one in host.get("Devices") or ()]
    found += ["host network"] if host.get("NetworkMode") == "host" else []
    size = int(host.get("ShmSize") or 0)
    return found + ([f"{size // _GIB} GiB of shared memory"] if size > shared_memory_bytes else [])


def _needs(spec: RunSpec) -> Mapping[str, Any]:
    on_cpu = spec.device == _CPU or spec.environment.get(_PJRT) == "CPU"
    return {} if on_cpu or spec.realisation is None else spec.realisation.device_needs


def _driver_version(path: Path) -> str | None:
    try:
        match = _VERSION.search(path.read_text(encoding="utf-8"))
    except OSError:
        return None
    return match[0] if match else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _refused(message: str, remedy: str) -> Explanation:
    return Explanation(outcome=Outcome.START_REFUSED, message=message, remedy=remedy)
