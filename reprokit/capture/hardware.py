"""The machine: CPU, memory, disk, GPUs, TPUs.

It loads no deep-learning library, and records nothing that names this one machine (no host name, no serial
number, no address).
"""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import psutil

from reprokit import extras

if TYPE_CHECKING:
    from reprokit.core.environment_record import CpuFacts, DeviceFacts, MachineFacts

_ARCHITECTURES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}

_CPUINFO = Path("/proc/cpuinfo")
_PCI_DEVICES = Path("/sys/bus/pci/devices")
_GOOGLE = "0x1ae0"

# PCI device numbers of TPU chips, as JAX tells them apart (jax/_src/hardware_utils.py).
_TPU_CHIPS = {
    "0x0027": "v2 or v3",
    "0x005e": "v4",
    "0x0062": "v5p",
    "0x0063": "v5e",
    "0x006f": "v6e",
}


def capture_hardware(folder: Path) -> MachineFacts:
    """``cpu``, ``memory``, ``disk`` of a folder, ``gpus``, ``tpu`` (or None), ``missing`` (field → reason).

    Sizes are in bytes.
    """
    missing: dict[str, str] = {}
    memory = psutil.virtual_memory()
    return {
        "cpu": _cpu(missing),
        "memory": {"total_bytes": memory.total, "available_bytes": memory.available},
        "disk": _disk(folder, missing),
        "gpus": _gpus(missing),
        "tpu": _tpu(),
        "missing": missing,
    }


def architecture() -> str:
    """The CPU's architecture under its Linux name."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine.lower(), machine)


def _cpu(missing: dict[str, str]) -> CpuFacts:
    facts: CpuFacts = {
        "architecture": architecture(),
        "physical": psutil.cpu_count(logical=False),
        "logical": psutil.cpu_count(logical=True),
        "usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    except OSError as error:
        missing["cpu.model"] = missing["cpu.features"] = f"no /proc/cpuinfo ({error.strerror})"
        return facts
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    model = fields.get("model name")  # x86-64; aarch64 has numbers for both
    if model is None and "CPU part" in fields:
        model = f"part {fields['CPU part']} variant {fields.get('CPU variant', '?')}"
    known: CpuFacts = {
        "model": model,
        "vendor": fields.get("vendor_id") or fields.get("CPU implementer"),
        "features": sorted((fields.get("flags") or fields.get("Features") or "").split()) or None,
    }
    missing |= {f"cpu.{name}": "not in /proc/cpuinfo" for name, value in known.items() if value is None}
    return facts | cast("CpuFacts", {name: value for name, value in known.items() if value is not None})


def _disk(folder: Path, missing: dict[str, str]) -> dict[str, int | None]:
    existing = next((path for path in (folder, *folder.resolve().parents) if path.exists()), Path("/"))
    try:
        usage = psutil.disk_usage(str(existing))
    except OSError as error:
        missing["disk"] = str(error.strerror or error)
        return {}
    return {"total_bytes": usage.total, "free_bytes": usage.free}


def _gpus(missing: dict[str, str]) -> list[DeviceFacts]:
    if not extras.is_installed("pynvml"):
        missing["gpus"] = f"this needs the package nvidia-ml-py: {extras.install_line('gpu')}"
        return []
    import pynvml  # type: ignore[import-untyped]  # noqa: PLC0415  (an extra)

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        missing["gpus"] = f"NVIDIA's management library does not answer ({error}): no driver, or no GPU"
        return []
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        return [_gpu(pynvml, index, driver) for index in range(pynvml.nvmlDeviceGetCount())]
    except pynvml.NVMLError as error:
        missing["gpus"] = f"NVIDIA's management library failed: {error}"
        return []
    finally:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _gpu(pynvml: Any, index: int, driver: str) -> DeviceFacts:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    facts: DeviceFacts = {"name": _text(pynvml.nvmlDeviceGetName(handle)), "driver": driver}
    with contextlib.suppress(pynvml.NVMLError):
        facts["memory_bytes"] = int(pynvml.nvmlDeviceGetMemoryInfo(handle).total)
    with contextlib.suppress(pynvml.NVMLError):
        facts["compute_capability"] = "{}.{}".format(*pynvml.nvmlDeviceGetCudaComputeCapability(handle))
    return facts


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _tpu() -> DeviceFacts | None:
    chips = []
    with contextlib.suppress(OSError):
        for device in sorted(_PCI_DEVICES.iterdir()):
            with contextlib.suppress(OSError):
                if (device / "vendor").read_text().strip() == _GOOGLE:
                    chips.append(_TPU_CHIPS.get((device / "device").read_text().strip()))
    known = [chip for chip in chips if chip]
    return {"name": known[0], "chips": len(known)} if known else None
