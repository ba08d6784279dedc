"""What a run on this host would and would not have in common with an earlier one's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.capture import environment_diff
from reprokit.core import fingerprint

# What a Python environment has at rest of these two; the rest of them is set at launch.
_TORCH_AT_REST = ("version", "git_version", "cuda", "cudnn", "mkl", "onednn", "openmp", "compiler", "build")
_NUMPY_AT_REST = ("version", "blas")
_WHOLE_AT_REST = ("packages", "sources", "python", "libc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What can be said before a run.

    Attributes:
        matches: Facts that will be as recorded, by path.
        differences: Entries as ``environment_diff`` gives them, ``yes`` and ``maybe`` only.
        open: Facts that only a run can tell, by path.
    """

    matches: tuple[str, ...]
    differences: tuple[Mapping[str, Any], ...]
    open: tuple[str, ...]
    platform: str
    host_platforms: tuple[str, ...]

    @property
    def same_platform(self) -> bool:
        return self.platform in self.host_platforms


def forecast(
    expected: Mapping[str, Any],
    *,
    host: Mapping[str, Any],
    packages: Mapping[str, str] | None = None,
    python: str | None = None,
    inside: Mapping[str, Any] | None = None,
) -> Forecast:
    """Compare what can change numbers of this host, and of an environment at rest, with an earlier record.

    ``packages`` (name → version) and ``python`` (``3.11``) are a lock's; the probe's facts ``inside`` win.
    """
    here, judged = _sections_here(
        expected.get("inside") or {}, host=host, packages=packages, python=python, inside=inside
    )
    predicted = {**expected, "inside": _overlaid(expected.get("inside") or {}, here), "host": dict(host)}
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
    expected: Mapping[str, Any],
    *,
    host: Mapping[str, Any],
    packages: Mapping[str, str] | None,
    python: str | None,
    inside: Mapping[str, Any] | None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What is known of a run here, in the shape of ``inside``, and the paths it covers."""
    cpu = host.get("cpu") or {}
    features = cpu.get("features") or ()
    known: dict[str, Any] = {"cpu": {"architecture": cpu.get("architecture")}}
    if features:
        known["cpu"] |= {"avx2": "avx2" in features, "avx512f": "avx512f" in features}
    device = _device_here(expected.get("device") or {}, host)
    if device:
        known["device"] = device
    if inside is not None:
        known |= {name: inside.get(name) or {} for name in _WHOLE_AT_REST}
        for library, names in (("torch", _TORCH_AT_REST), ("numpy", _NUMPY_AT_REST)):
            known[library] = {name: (inside.get(library) or {}).get(name) for name in names}
    elif packages is not None:
        known["packages"] = dict(packages)
        if python is not None:
            known["python"] = {"minor": python}
    judged = [f"inside.{name}.{field}" for name, section in known.items() for field in section]
    whole = [f"inside.{name}." for name in ("packages", "sources", "libc") if name in known]
    return known, (*judged, *whole, "host.", "inside.device.kind")


def _device_here(expected: Mapping[str, Any], host: Mapping[str, Any]) -> dict[str, Any]:
    if expected.get("kind") == "cuda":
        gpus = host.get("gpus") or ()
        names = ("name", "driver", "compute_capability")
        return {"kind": "cuda", **{name: gpus[0].get(name) for name in names}} if gpus else {"kind": "cpu"}
    if expected.get("kind") == "tpu":
        return {"kind": "tpu" if host.get("tpu") else "cpu"}
    return {}


def _overlaid(expected: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The expected section with what is known laid over it; packages are replaced as a whole."""
    result = dict(expected)
    for name, section in known.items():
        before = {} if name in {"packages", "sources", "libc"} else expected.get(name) or {}
        result[name] = {**before, **section}
    return result
