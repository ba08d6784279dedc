"""Judges a host from what was read of it: one finding a question, with the command that would help."""

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
_EXTRAS = (
    (
        "base images without a registry",
        ("mmdebstrap",),
        "building an image needs a reachable registry",
        "mmdebstrap",
    ),
    (
        "emulated CPUs",
        ("qemu-x86_64", "qemu-x86_64-static"),
        "other CPU models cannot be tested here",
        "qemu-user",
    ),
    (
        "signed reports",
        ("ssh-keygen",),
        "reports can neither be signed nor their signatures verified here",
        "openssh-client",
    ),
)


class State(StrEnum):
    """What a finding means: fine, works with limits, does not work, or optional and not there."""

    OK = "ok"
    WARNING = "warning"
    LACK = "lack"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor's page."""

    name: str  # what was looked at
    state: State  # LACK keeps the host from being ready; WARNING and ABSENT do not
    detail: str  # what was found, one sentence without a full stop
    fix: str = ""  # the command or step that would help; empty when nothing is to be done
    notes: tuple[str, ...] = ()  # additional lines


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
        yield _ok("python", version)
    else:
        yield _lack("python", f"{version} is not supported", fix="uv python install 3.11")
    if seen.others:
        yield _warning(
            "distribution",
            f"{', '.join(seen.others)}: another project's, whose files replace those of this tool",
            fix=f"pip uninstall --yes {' '.join(one.split()[0] for one in seen.others)} && "
            "pip install --force-reinstall reprokit-verify",
        )
    by_make = (
        (("make", "`make reproduce` does not work; `reprokit reproduce` does"),) if seen.has_make else ()
    )
    for name, without in (("git", "runs are recorded without their commit"), *by_make):
        if path := seen.programs.get(name):
            yield _ok(name, path)
        else:
            yield _warning(name, f"not installed: {without}", fix=_install(seen, name))


def _engine(seen: Surroundings) -> Iterator[Finding]:
    engine = seen.engine
    if not engine.reachable:
        fix = engine.remedy or f"{_install(seen, 'docker.io')} && sudo systemctl start docker"
        why = engine.error or "none answers"
        if _system(seen) == "Linux":
            instead = "a virtual environment of the same lock is used instead"
            yield _warning("container engine", f"{why}; {instead}", fix=fix)
        else:
            needed = "training needs it on this system, because the locks are for Linux"
            yield _lack("container engine", f"{why}; {needed}", fix=fix)
        return
    traits = [f"API {engine.api_version}", f"{engine.storage_driver}", f"cgroup {engine.cgroup_version}"]
    traits += ["rootless"] if engine.rootless else []
    product = "Podman" if engine.podman else "Docker"
    yield _ok("container engine", f"{product} {engine.version} ({', '.join(traits)})")
    if "seccomp" not in " ".join(engine.security_options):
        fix = "start the engine on a kernel with CONFIG_SECCOMP=y"
        yield _warning("engine security", "no seccomp profile: containers are less confined", fix=fix)
    if escapes := () if engine.podman else known_escapes(engine.version):  # numbers of Docker Engine
        newest = ".".join(map(str, max(escapes[0].fixed_in)))
        yield _warning(
            "engine security",
            "this version number has published container escapes",
            fix=_upgrade(engine.version or "", newest),
            notes=tuple(f"{escape.name}: {escape.what}; {escape.source}" for escape in escapes),
        )


def _upgrade(version: str, newest: str) -> str:
    upstream = f"upgrade to Docker Engine {newest} or later (docs.docker.com/engine/install)"
    if re.search(r"dfsg|ubuntu|\+deb|\.el\d|\.fc\d", version):
        return f"{upstream}; a distribution's build may already be fixed: apt changelog docker.io runc"
    return upstream


def _environments(seen: Surroundings) -> Iterator[Finding]:
    if seen.locks_problem:
        fix = "git checkout -- images, or solve again: reprokit image lock cpu"
        yield _lack("locks", seen.locks_problem, fix=fix)
    elif not seen.locks:
        yield _absent(
            "locks",
            "no environment under images/ here: only plain commands can be reproduced",
            fix="reprokit image lock NAME --from requirements.txt",
        )
    else:
        listed = ", ".join(f"{name} ({count} packages)" for name, count in seen.locks.items())
        yield _ok("locks", listed)
    wanted = sorted(set(seen.lock_pythons.values()) - set(seen.pythons))
    if wanted and not seen.engine.reachable:
        yield _warning(
            "locked Python",
            f"no Python {', '.join(wanted)} on this host: uv fetches it",
            fix=" && ".join(f"uv python install {version}" for version in wanted),
        )
    if seen.cache_problem:
        fix = "export REPROKIT_CACHE=FOLDER, one that you can write to"
        yield _lack("cache", seen.cache_problem, fix=fix)
    else:
        yield _ok("cache", f"{seen.cache} can be written{_held(seen.held)}")


def _held(sizes: Mapping[str, int]) -> str:
    """How much is in the caches, and what makes it less."""
    listed = [f"{name} {size / _GIB:.1f} GiB" for name, size in sizes.items() if size >= _GIB / 20]
    return f"; holds {', '.join(listed)} (`reprokit image prune` lists what is not used)" if listed else ""


def _machine(seen: Surroundings) -> Iterator[Finding]:
    cpu: Mapping[str, Any] = seen.host.get("cpu") or {}
    architecture, features = cpu.get("architecture"), cpu.get("features") or ()
    if architecture == "x86_64" and "avx2" in features:
        wide = ", AVX-512" if "avx512f" in features else ""
        yield _ok("CPU", f"{cpu.get('model')} (AVX2{wide})")
    else:
        what = "no AVX2" if architecture == "x86_64" else architecture
        detail = f"{what}: not the platform cpu-x86_64, whose goldens do not apply here"
        yield _warning("CPU", detail, fix="reprokit golden promote, for a golden of this platform")
    cores = cpu.get("usable") or 1
    if cores > 1:
        yield _ok("cores", f"{cores} usable")
    else:
        yield _warning("cores", "1 usable: the two runs are made one after the other")
    total = (seen.host.get("memory") or {}).get("total_bytes") or 0
    yield _amount("memory", total, _LEAST_MEMORY, _GOOD_MEMORY, fix="train on a machine with more")
    free = (seen.host.get("disk") or {}).get("free_bytes") or 0
    fix = "free some space: reprokit runs prune, docker image prune"
    yield _amount("disk", free, _LEAST_DISK, _GOOD_DISK, fix=fix, left="free")


def _amount(name: str, found: int, least: int, good: int, *, fix: str, left: str = "") -> Finding:
    detail = f"{found / _GIB:.1f} GiB {left}".rstrip()
    if found >= good:
        return _ok(name, detail)
    lacking = _warning if found >= least else _lack
    return lacking(name, f"{detail}, {good // _GIB} GiB recommended", fix=fix)


def _accelerators(seen: Surroundings) -> Iterator[Finding]:
    gpus = seen.host.get("gpus") or ()
    if not gpus:
        yield _absent("GPU", str((seen.host.get("missing") or {}).get("gpus", "none found")))
    for gpu in gpus:
        yield _ok("GPU", f"{gpu.get('name')}, driver {gpu.get('driver')}")
    if gpus and seen.engine.reachable and not seen.programs.get("nvidia-ctk"):
        install = "sudo apt-get install nvidia-container-toolkit"
        fix = f"{install} && sudo nvidia-ctk runtime configure --runtime=docker"
        yield _warning("GPU in containers", "the NVIDIA container toolkit is missing", fix=fix)
    if tpu := seen.host.get("tpu"):
        yield _ok("TPU", f"{tpu.get('name')}, {tpu.get('chips')} chips")
    else:
        yield _absent("TPU", "none found")


def _extras(seen: Surroundings) -> Iterator[Finding]:
    extras = _EXTRAS if seen.engine.reachable else _EXTRAS[1:]  # without an engine nothing is built
    for name, programs, without, package in extras:
        if found := next((path for path in map(seen.programs.get, programs) if path), None):
            yield _ok(name, found)
        else:
            yield _absent(name, f"{programs[0]} is not installed: {without}", fix=_install(seen, package))


def _install(seen: Surroundings, package: str) -> str:
    return f"brew install {package}" if _system(seen) == "Darwin" else f"sudo apt-get install {package}"


def _system(seen: Surroundings) -> str:
    return str((seen.host.get("os") or {}).get("system"))


def _ok(name: str, detail: str) -> Finding:
    return Finding(name=name, state=State.OK, detail=detail)


def _warning(name: str, detail: str, *, fix: str = "", notes: tuple[str, ...] = ()) -> Finding:
    return Finding(name=name, state=State.WARNING, detail=detail, fix=fix, notes=notes)


def _lack(name: str, detail: str, *, fix: str) -> Finding:
    return Finding(name=name, state=State.LACK, detail=detail, fix=fix)


def _absent(name: str, detail: str, *, fix: str = "") -> Finding:
    return Finding(name=name, state=State.ABSENT, detail=detail, fix=fix)
