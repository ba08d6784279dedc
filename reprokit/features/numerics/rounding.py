"""How every operation rounds in a pinned environment on this CPU, asked of the environment itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit import capture
from reprokit.capture import read_record
from reprokit.core import numerics, rounding
from reprokit.core.fingerprint import PORTABLE
from reprokit.core.records import SCHEMA_VERSION, Realisation, RunSpec
from reprokit.errors import ReportError, UsageError
from reprokit.features.numerics import environment_probe
from reprokit.harness.running.varying import emulation
from reprokit.project import Project
from reprokit.request import Request
from reprokit.session import Session

_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingCheck:
    """What is to be probed: a variant of ``images/lock.toml`` under a numerics profile."""

    variant: str = "cpu"
    profile: str = PORTABLE
    backend: str = Request().backend
    base: str = Request().base
    cpu: str | None = None


def check(wanted: RoundingCheck, *, session: Session) -> dict[str, Any]:
    """Run the probe once.

    Returns:
        ``schema``, ``variant``, ``profile``, ``backend``, ``cpu`` (the host's model, or the emulated
        one), ``emulated``, ``probe`` (as in environment.json) and ``numerics`` (the profile in force,
        and in ``missing`` what is not).

    Raises:
        UsageError: An emulated CPU in a container, or one that the emulator does not know.
        CannotRunError: No emulator, no environment, or the probe did not come to its end.
    """
    if wanted.cpu is not None and wanted.backend == "docker":
        raise UsageError(
            "CPUs are emulated in the virtual environment, not in a container", fix="--backend local"
        )
    backend, realisation = environment_probe.resolve(
        wanted.variant,
        backend="local" if wanted.cpu is not None else wanted.backend,
        base=wanted.base,
        session=session,
    )
    spec, model = _spec(wanted, realisation), _model(session.project)
    if wanted.cpu is not None:
        spec, model = _emulated(spec, wanted.cpu)
    session.progress.phase(f"probe on {model or 'this CPU'}")
    told = environment_probe.run(spec, backend=backend, session=session)
    about = {"variant": wanted.variant, "profile": wanted.profile, "backend": backend, "device": spec.device}
    return {
        "schema": SCHEMA_VERSION,
        **about,
        "cpu": model,
        "emulated": wanted.cpu is not None,
        "numerics": told.pop("numerics", None),
        "probe": told,
    }


def read_probe(path: Path) -> Mapping[str, Any]:
    """The probe in ``env numerics check --json`` or an environment record; a ``ReportError`` without one."""
    if path.is_file():
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ReportError(f"cannot be read: {error}", where=str(path)) from error
        probe = value.get("probe") if isinstance(value, dict) else None
        if isinstance(probe, dict):
            return probe
    found = rounding.probe_of(read_record.read_record(path))
    if found is None:
        raise ReportError(
            "this record holds no probe of how operations round",
            where=str(path),
            fix="`reprokit env numerics check --json > FILE` on that machine, or make a new run there",
        )
    return found


def _spec(wanted: RoundingCheck, realisation: Realisation) -> RunSpec:
    return environment_probe.probe_spec(
        "numerics-check",
        module="reprokit.probes.rounding_probe",
        device="cuda" if wanted.variant == "cuda" else "cpu",
        realisation=realisation,
        variables=numerics.variables(wanted.profile, hash_seed=0),
        timeout_s=_TIMEOUT_S,
    )


def _emulated(spec: RunSpec, cpu: str) -> tuple[RunSpec, str]:
    emulator = emulation.find_emulator()
    emulation.check_names([cpu], emulator=emulator)
    python = spec.realisation.python if spec.realisation else ""
    seen = emulation.look_at(cpu, emulator=emulator, python=python)
    if not seen.avx2:
        why = seen.trouble or "it has no AVX2 with FMA"
        raise UsageError(f"{cpu} is another platform: {why}", expected="an x86-64 CPU with AVX2")
    return emulation.under(spec, cpu=cpu, emulator=emulator), seen.told


def _model(project: Project) -> str:
    cpu = capture.capture_host(project.root).get("cpu")
    return str(cpu.get("model") or "") if isinstance(cpu, Mapping) else ""
