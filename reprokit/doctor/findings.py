"""Judging a host: one finding a question, each lack with the command that would fix it.

This module knows what reprokit needs. It is pure: it refuses to look at the host itself, and to
know how findings are printed.

    >>> is_ready(examine(look(Path("."))))
    True
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from reprokit.doctor.escapes import known_escapes
from reprokit.doctor.surroundings import PYTHONS, Surroundings

_GIB = 1 << 30
_LEAST_MEMORY, _GOOD_MEMORY = 2 * _GIB, 4 * _GIB
_LEAST_DISK, _GOOD_DISK = 2 * _GIB, 8 * _GIB


class State(StrEnum):
    """What a finding means: fine, works but less well, does not work, or simply not there."""

    OK = "ok"
    WARNING = "warning"
    LACK = "lack"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor's page.

    Attributes:
        name: What was looked at.
        state: LACK keeps the host from being ready; WARNING and ABSENT do not.
        detail: What was found, one sentence without a full stop.
        fix: The command or step that would help; empty when nothing is to be done.
        notes: More lines about it.
    """

    name: str
    state: State
    detail: str
    fix: str = ""
    notes: tuple[str, ...] = ()


def examine(seen: Surroundings) -> tuple[Finding, ...]:
    """Judge what was read; the order is that of the page."""
    return tuple(
        finding
        for part in (_tool, _engine, _environments, _machine, _accelerators, _extras)
        for finding in part(seen)
    )


def is_ready(findings: tuple[Finding, ...]) -> bool:
    """Whether training can be reproduced here at all."""
    return all(finding.state is not State.LACK for finding in findings)


def _tool(seen: Surroundings) -> Iterator[Finding]:
    version = ".".join(map(str, seen.python))
    if PYTHONS[0] <= seen.python < PYTHONS[1]:
        yield Finding(name="python", state=State.OK, detail=version)
    else:
        yield Finding(
            name="python",
            state=State.LACK,
            detail=f"{version} is not supported",
            fix="uv python install 3.11",
        )
    for name, without in (
        ("git", "runs are recorded without their commit"),
        ("make", "`make reproduce` is not there; `reprokit reproduce` is"),
    ):
        path = seen.programs.get(name)
        if path:
            yield Finding(name=name, state=State.OK, detail=path)
        else:
            yield Finding(
                name=name, state=State.WARNING, detail=f"not installed: {without}", fix=_install(seen, name)
            )


def _engine(seen: Surroundings) -> Iterator[Finding]:
    engine = seen.engine
    if not engine.reachable:
        on_linux = _system(seen) == "Linux"
        instead = (
            "a virtual environment of the same lock does instead"
            if on_linux
            else "here it is the only way to train, for the locks are for Linux"
        )
        yield Finding(
            name="container engine",
            state=State.WARNING if on_linux else State.LACK,
            detail=f"{engine.error or 'none answers'}; {instead}",
            fix=engine.remedy or f"{_install(seen, 'docker.io')} && sudo systemctl start docker",
        )
        return
    traits = [f"API {engine.api_version}", f"{engine.storage_driver}", f"cgroup {engine.cgroup_version}"]
    traits += ["rootless"] if engine.rootless else []
    product = "Podman" if engine.podman else "Docker"
    yield Finding(
        name="container engine", state=State.OK, detail=f"{product} {engine.version} ({', '.join(traits)})"
    )
    if "seccomp" not in " ".join(engine.security_options):
        yield Finding(
            name="engine security",
            state=State.WARNING,
            detail="no seccomp profile: less confined",
            fix="start the engine on a kernel with CONFIG_SECCOMP=y",
        )
    escapes = () if engine.podman else known_escapes(engine.version)  # numbers of Docker Engine
    if escapes:
        newest = ".".join(map(str, max(escapes[0].fixed_in)))
        yield Finding(
            name="engine security",
            state=State.WARNING,
            detail="published container escapes that this version has, going by its number",
            fix=_upgrade(engine.version or "", newest),
            notes=tuple(f"{escape.name}: {escape.what}; {escape.source}" for escape in escapes),
        )


def _upgrade(version: str, newest: str) -> str:
    upstream = f"upgrade to Docker Engine {newest} or later (docs.docker.com/engine/install)"
    if re.search(r"dfsg|ubuntu|\+deb|\.el\d|\.fc\d", version):
        return f"{upstream}; a distribution's build may be repaired already: apt changelog docker.io runc"
    return upstream


def _environments(seen: Surroundings) -> Iterator[Finding]:
    if seen.locks_problem:
        yield Finding(
            name="locks",
            state=State.LACK,
            detail=seen.locks_problem,
            fix="git checkout -- images, or solve again: reprokit image lock cpu",
        )
    elif not seen.locks:
        yield Finding(
            name="locks", state=State.ABSENT, detail="no images/ here: only plain commands can be reproduced"
        )
    else:
        listed = ", ".join(f"{name} ({count} packages)" for name, count in seen.locks.items())
        yield Finding(name="locks", state=State.OK, detail=listed)
    wanted = sorted(set(seen.lock_pythons.values()) - set(seen.pythons))
    if wanted and not seen.engine.reachable:
        yield Finding(
            name="locked Python",
            state=State.WARNING,
            detail=f"no Python {', '.join(wanted)} on this host: uv fetches it",
            fix=" && ".join(f"uv python install {version}" for version in wanted),
        )
    if seen.cache_problem:
        yield Finding(
            name="cache",
            state=State.LACK,
            detail=seen.cache_problem,
            fix="export REPROKIT_CACHE=FOLDER, one that you can write to",
        )
    else:
        yield Finding(name="cache", state=State.OK, detail=f"{seen.cache} can be written")


def _machine(seen: Surroundings) -> Iterator[Finding]:
    cpu: Mapping[str, Any] = seen.host.get("cpu") or {}
    architecture, features = cpu.get("architecture"), cpu.get("features") or ()
    if architecture == "x86_64" and "avx2" not in features:
        yield Finding(
            name="CPU",
            state=State.WARNING,
            detail="no AVX2: another platform than cpu-x86_64, whose goldens do not hold here",
            fix="reprokit golden promote, for a golden of this platform",
        )
    elif architecture == "x86_64":
        wide = ", AVX-512" if "avx512f" in features else ""
        yield Finding(name="CPU", state=State.OK, detail=f"{cpu.get('model')} (AVX2{wide})")
    else:
        yield Finding(
            name="CPU",
            state=State.WARNING,
            detail=f"{architecture}: another platform than cpu-x86_64, whose goldens do not hold here",
            fix="reprokit golden promote, for a golden of this platform",
        )
    cores = cpu.get("usable") or 1
    yield Finding(
        name="cores",
        state=State.OK if cores > 1 else State.WARNING,
        detail=f"{cores} usable" if cores > 1 else "1 usable: the two runs go one after the other",
    )
    total = (seen.host.get("memory") or {}).get("total_bytes") or 0
    yield _amount("memory", total, _LEAST_MEMORY, _GOOD_MEMORY, fix="train on a machine with more")
    free = (seen.host.get("disk") or {}).get("free_bytes") or 0
    yield _amount(
        "disk",
        free,
        _LEAST_DISK,
        _GOOD_DISK,
        fix="free some space: reprokit runs prune, docker image prune",
        left="free",
    )


def _amount(name: str, found: int, least: int, good: int, *, fix: str, left: str = "") -> Finding:
    state = State.OK if found >= good else State.WARNING if found >= least else State.LACK
    detail = f"{found / _GIB:.1f} GiB {left}".rstrip()
    if state is not State.OK:
        detail += f", {good // _GIB} GiB are comfortable"
    return Finding(name=name, state=state, detail=detail, fix="" if state is State.OK else fix)


def _accelerators(seen: Surroundings) -> Iterator[Finding]:
    gpus = seen.host.get("gpus") or ()
    missing = (seen.host.get("missing") or {}).get("gpus", "none found")
    if not gpus:
        yield Finding(name="GPU", state=State.ABSENT, detail=str(missing))
    for gpu in gpus:
        yield Finding(name="GPU", state=State.OK, detail=f"{gpu.get('name')}, driver {gpu.get('driver')}")
    if gpus and seen.engine.reachable and not seen.programs.get("nvidia-ctk"):
        yield Finding(
            name="GPU in containers",
            state=State.WARNING,
            detail="the NVIDIA container toolkit is missing",
            fix="sudo apt-get install nvidia-container-toolkit && "
            "sudo nvidia-ctk runtime configure --runtime=docker",
        )
    tpu = seen.host.get("tpu")
    if tpu:
        yield Finding(name="TPU", state=State.OK, detail=f"{tpu.get('name')}, {tpu.get('chips')} chips")
    else:
        yield Finding(name="TPU", state=State.ABSENT, detail="none found")


def _extras(seen: Surroundings) -> Iterator[Finding]:
    if seen.engine.reachable:
        yield _extra(
            seen,
            "base images without a registry",
            ("mmdebstrap",),
            "an image needs a reachable registry",
            package="mmdebstrap",
        )
    yield _extra(
        seen,
        "emulated CPUs",
        ("qemu-x86_64", "qemu-x86_64-static"),
        "whether other CPU models give the same bits cannot be tried here",
        package="qemu-user",
    )
    yield _extra(
        seen,
        "signed reports",
        ("ssh-keygen",),
        "reports can neither be signed nor their signatures verified here",
        package="openssh-client",
    )


def _extra(
    seen: Surroundings, name: str, programs: tuple[str, ...], without: str, *, package: str
) -> Finding:
    found = next((path for path in map(seen.programs.get, programs) if path), None)
    if found:
        return Finding(name=name, state=State.OK, detail=found)
    return Finding(
        name=name,
        state=State.ABSENT,
        detail=f"{programs[0]} is not installed: {without}",
        fix=_install(seen, package),
    )


def _install(seen: Surroundings, package: str) -> str:
    return f"brew install {package}" if _system(seen) == "Darwin" else f"sudo apt-get install {package}"


def _system(seen: Surroundings) -> str:
    return str((seen.host.get("os") or {}).get("system"))
