"""What the doctor says of NVIDIA GPUs: driver, errors, clocks, memory, other programs, containers."""

from __future__ import annotations

from collections.abc import Iterator

from reprokit.capture.gpus import GpuState
from reprokit.features.doctor.finding import HostFinding, absent, ok, warning
from reprokit.features.doctor.host_facts import HostFacts

_GIB = 1 << 30
_GOOD_FREE = 4 * _GIB
_CONTAINERS = "GPU in containers"


def of_gpus(seen: HostFacts) -> Iterator[HostFinding]:
    """One finding a GPU, one for each thing that is wrong with it, and what containers get."""
    gpus = seen.host.get("gpus") or ()
    if not gpus:
        yield absent("GPU", str((seen.host.get("missing") or {}).get("gpus", "none found")))
        return
    if seen.gpus.problem:
        for gpu in gpus:
            yield ok("GPU", f"{gpu.get('name')}, driver {gpu.get('driver')}")
        detail = f"errors, clocks and other programs are not known: {seen.gpus.problem}"
        yield warning("GPU state", detail, fix="install nvidia-smi, which comes with the driver")
    for state in seen.gpus.gpus:
        free, total = (size / _GIB for size in (state.free_bytes, state.total_bytes))
        yield ok(
            "GPU",
            f"{state.index}: {state.name}, driver {state.driver}, {free:.1f} of {total:.1f} GiB free",
        )
        yield from _of_one(state)
    yield from _of_driver(seen, {str(gpu.get("driver")) for gpu in gpus})
    yield from _of_containers(seen)


def _of_one(state: GpuState) -> Iterator[HostFinding]:
    name, number = f"GPU {state.index}", state.index
    if state.mig:
        detail = "MIG is on: torch computes on a slice, under another name, with goldens of its own"
        yield warning(name, detail, fix=f"sudo nvidia-smi -i {number} -mig 0, for a golden of the whole GPU")
    if state.uncorrected_errors:
        detail = f"{state.uncorrected_errors} uncorrected memory errors: its numbers cannot be trusted"
        yield warning(name, detail, fix=f"nvidia-smi -i {number} -q -d ECC,PAGE_RETIREMENT, then replace it")
    if state.slowed_by:
        detail = f"its clocks are held down by {', '.join(state.slowed_by)}: slower, with the same numbers"
        yield warning(name, detail, fix=f"nvidia-smi -i {number} -q -d PERFORMANCE,TEMPERATURE,POWER")
    if state.processes:
        detail = f"other programs use it: {', '.join(map(str, state.processes))}"
        yield warning(name, detail, fix="wait for them; --exclusive refuses to train next to them")
    if state.free_bytes < _GOOD_FREE:
        detail = f"{state.free_bytes / _GIB:.1f} GiB of its memory free, {_GOOD_FREE // _GIB} GiB recommended"
        yield warning(name, detail, fix="end what holds it: nvidia-smi lists programs and their memory")


def _of_driver(seen: HostFacts, drivers: set[str]) -> Iterator[HostFinding]:
    old = [
        driver for driver in sorted(drivers) if seen.minimum_driver and _is_older(driver, seen.minimum_driver)
    ]
    if old:
        detail = f"{old[0]} is older than {seen.minimum_driver}, which the variant cuda needs"
        yield warning("GPU driver", detail, fix="update the host's NVIDIA driver")


def _is_older(version: str, least: str) -> bool:
    numbers = [[int(part) for part in one.split(".") if part.isdecimal()] for one in (version, least)]
    return not numbers[0] or numbers[0] < numbers[1]


def _of_containers(seen: HostFacts) -> Iterator[HostFinding]:
    if not seen.engine.reachable:
        return
    if seen.programs.get("nvidia-ctk"):
        specs = f"; CDI: {', '.join(seen.cdi)}" if seen.cdi else ""
        yield ok(_CONTAINERS, f"{seen.programs['nvidia-ctk']}{specs}")
    elif seen.cdi:
        yield ok(_CONTAINERS, f"by CDI: {', '.join(seen.cdi)}")
    else:
        install = "sudo apt-get install nvidia-container-toolkit"
        fix = f"{install} && sudo nvidia-ctk runtime configure --runtime=docker"
        yield warning(_CONTAINERS, "neither the NVIDIA container toolkit nor a CDI specification", fix=fix)
