"""What a run on this host would and would not have in common with an earlier one's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from reprokit.capture import environment_diff
from reprokit.core import fingerprint
from reprokit.core.environment_record import (
    CpuFacts,
    DeviceFacts,
    DifferingFact,
    EnvironmentRecord,
    InsideFacts,
    MachineFacts,
)

# What a Python environment has at rest of these two; the rest of them is set at launch.
_TORCH_AT_REST = ("version", "git_version", "cuda", "cudnn", "mkl", "onednn", "openmp", "compiler", "build")
_NUMPY_AT_REST = ("version", "blas")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What can be said before a run.

    Attributes:
        matches: Facts that will be as recorded, by path.
        differences: Entries as ``environment_diff`` gives them, ``yes`` and ``maybe`` only.
        open: Facts that only a run can tell, by path.
    """

    matches: tuple[str, ...]
    differences: tuple[DifferingFact, ...]
    open: tuple[str, ...]
    platform: str
    host_platforms: tuple[str, ...]

    @property
    def same_platform(self) -> bool:
        return self.platform in self.host_platforms


def forecast(
    expected: EnvironmentRecord,
    *,
    host: MachineFacts,
    packages: Mapping[str, str] | None = None,
    python: str | None = None,
    inside: InsideFacts | None = None,
) -> Forecast:
    """Compare what can change numbers of this host, and of an environment at rest, with an earlier record.

    ``packages`` (name → version) and ``python`` (``3.11``) are a lock's; the probe's facts ``inside`` win.
    """
    here, judged = _sections_here(
        expected.get("inside") or {}, host=host, packages=packages, python=python, inside=inside
    )
    predicted: EnvironmentRecord = {
        **expected,
        "inside": _overlaid(expected.get("inside") or {}, here),
        "host": host,
    }
    differences = tuple(
        entry for entry in environment_diff.diff(expected, predicted) if entry["can_change_numbers"] != "no"
    )
    differing = {entry["field"] for entry in differences}
    wanted = [field for field in fingerprint.facts(expected) if field not in differing]
    return Forecast(
        matches=tuple(field for field in wanted if field.startswith(judged)),
        differences=differences,
        open=tuple(field for field in wanted if not field.startswith(judged)),
        platform=fingerprint.platform_of(expected),
        host_platforms=fingerprint.platforms_of_host(host),
    )


def _sections_here(
    expected: InsideFacts,
    *,
    host: MachineFacts,
    packages: Mapping[str, str] | None,
    python: str | None,
    inside: InsideFacts | None,
) -> tuple[InsideFacts, tuple[str, ...]]:
    """What is known of a run here, in the shape of ``inside``, and the paths it covers."""
    cpu = host.get("cpu") or {}
    features = cpu.get("features") or ()
    seen: CpuFacts = {"architecture": cpu.get("architecture")}
    if features:
        seen |= {"avx2": "avx2" in features, "avx512f": "avx512f" in features}
    known: InsideFacts = {"cpu": seen}
    device = _device_here(expected.get("device") or {}, host)
    if device:
        known["device"] = device
    if inside is not None:
        known |= {
            "packages": inside.get("packages") or {},
            "sources": inside.get("sources") or {},
            "python": inside.get("python") or {},
            "libc": inside.get("libc") or {},
            "torch": {name: (inside.get("torch") or {}).get(name) for name in _TORCH_AT_REST},
            "numpy": {name: (inside.get("numpy") or {}).get(name) for name in _NUMPY_AT_REST},
        }
    elif packages is not None:
        known["packages"] = dict(packages)
        if python is not None:
            known["python"] = {"minor": python}
    judged = [f"inside.{name}.{field}" for name, section in _parts(known).items() for field in section]
    whole = [f"inside.{name}." for name in ("packages", "sources", "libc") if name in known]
    return known, (*judged, *whole, "host.", "inside.device.kind")


def _device_here(expected: DeviceFacts, host: MachineFacts) -> DeviceFacts:
    if expected.get("kind") == "cuda":
        gpus = host.get("gpus") or ()
        if not gpus:
            return {"kind": "cpu"}
        gpu = gpus[0]
        return {
            "kind": "cuda",
            "name": gpu.get("name"),
            "driver": gpu.get("driver"),
            "compute_capability": gpu.get("compute_capability"),
        }
    if expected.get("kind") == "tpu":
        return {"kind": "tpu" if host.get("tpu") else "cpu"}
    return {}


def _overlaid(expected: InsideFacts, known: InsideFacts) -> InsideFacts:
    """The expected section with what is known laid over it; packages are replaced as a whole."""
    result, before = dict(expected), _parts(expected)
    for name, section in _parts(known).items():
        kept = {} if name in {"packages", "sources", "libc"} else before.get(name) or {}
        result[name] = {**kept, **section}
    return cast("InsideFacts", result)


def _parts(inside: InsideFacts) -> Mapping[str, Mapping[str, Any]]:
    return cast("Mapping[str, Mapping[str, Any]]", inside)
