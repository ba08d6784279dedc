"""Judges a host from what was read of it: one finding a question, with the command that would help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reprokit.features.doctor.escapes import known_escapes
from reprokit.features.doctor.finding import FindingState, HostFinding, absent, lack, ok, warning
from reprokit.features.doctor.gpu_findings import of_gpus
from reprokit.features.doctor.host_facts import PYTHONS, HostFacts

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


def examine(seen: HostFacts) -> tuple[HostFinding, ...]:
    """Judge what was read; the order is that of the page."""
    return tuple(
        finding
        for part in (_tool, _engine, _environments, _machine, _accelerators, _extras)
        for finding in part(seen)
    )


def is_ready(findings: tuple[HostFinding, ...]) -> bool:
    """Whether training can be reproduced here at all."""
    return all(finding.state is not FindingState.LACK for finding in findings)


def _tool(seen: HostFacts) -> Iterator[HostFinding]:
    version = ".".join(map(str, seen.python))
    if PYTHONS[0] <= seen.python < PYTHONS[1]:
        yield ok("python", version)
    else:
        yield lack("python", f"{version} is not supported", fix="uv python install 3.11")
    if seen.others:
        yield warning(
            "distribution",
            f"{', '.join(seen.others)}: another project's, whose files replace those of this tool",
            fix=f"pip uninstall --yes {' '.join(other.split()[0] for other in seen.others)} && "
            "pip install --force-reinstall reprokit-verify",
        )
    by_make = (
        (("make", "`make reproduce` does not work; `reprokit reproduce` does"),) if seen.has_make else ()
    )
    for name, without in (("git", "runs are recorded without their commit"), *by_make):
        if path := seen.programs.get(name):
            yield ok(name, path)
        else:
            yield warning(name, f"not installed: {without}", fix=_install(seen, name))


def _engine(seen: HostFacts) -> Iterator[HostFinding]:
    engine = seen.engine
    if not engine.reachable:
        fix = engine.remedy or f"{_install(seen, 'docker.io')} && sudo systemctl start docker"
        why = engine.error or "none answers"
        if _system(seen) == "Linux":
            instead = "a virtual environment of the same lock is used instead"
            yield warning("container engine", f"{why}; {instead}", fix=fix)
        else:
            needed = "training needs it on this system, because the locks are for Linux"
            yield lack("container engine", f"{why}; {needed}", fix=fix)
        return
    traits = [f"API {engine.api_version}", f"{engine.storage_driver}", f"cgroup {engine.cgroup_version}"]
    traits += ["rootless"] if engine.rootless else []
    product = "Podman" if engine.podman else "Docker"
    yield ok("container engine", f"{product} {engine.version} ({', '.join(traits)})")
    if "seccomp" not in " ".join(engine.security_options):
        fix = "start the engine on a kernel with CONFIG_SECCOMP=y"
        yield warning("engine security", "no seccomp profile: containers are less confined", fix=fix)
    if escapes := () if engine.podman else known_escapes(engine.version):  # numbers of Docker Engine
        newest = ".".join(map(str, max(escapes[0].fixed_in)))
        yield warning(
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


def _environments(seen: HostFacts) -> Iterator[HostFinding]:
    if seen.locks_problem:
        fix = "git checkout -- images, or solve again: reprokit image lock cpu"
        yield lack("locks", seen.locks_problem, fix=fix)
    elif not seen.locks:
        yield absent(
            "locks",
            "no environment under images/ here: only plain commands can be reproduced",
            fix="reprokit image lock NAME --dependencies requirements.txt",
        )
    else:
        listed = ", ".join(f"{name} ({count} packages)" for name, count in seen.locks.items())
        yield ok("locks", listed)
    wanted = sorted(set(seen.lock_pythons.values()) - set(seen.pythons))
    if wanted and not seen.engine.reachable:
        yield warning(
            "locked Python",
            f"no Python {', '.join(wanted)} on this host, and runs fetch none",
            fix=" && ".join(f"uv python install {version}" for version in wanted),
        )
    if seen.cache_problem:
        fix = "export REPROKIT_CACHE=FOLDER, one that you can write to"
        yield lack("cache", seen.cache_problem, fix=fix)
    else:
        yield ok("cache", f"{seen.cache} can be written{_held(seen.held)}")


def _held(sizes: Mapping[str, int]) -> str:
    """How much is in the caches, and what makes it less."""
    listed = [f"{name} {size / _GIB:.1f} GiB" for name, size in sizes.items() if size >= _GIB / 20]
    return f"; holds {', '.join(listed)} (`reprokit image prune` lists what is not used)" if listed else ""


def _machine(seen: HostFacts) -> Iterator[HostFinding]:
    cpu = seen.host.get("cpu") or {}
    architecture, features = cpu.get("architecture"), cpu.get("features") or ()
    if architecture == "x86_64" and "avx2" in features:
        wide = ", AVX-512" if "avx512f" in features else ""
        yield ok("CPU", f"{cpu.get('model')} (AVX2{wide})")
    else:
        what = "no AVX2" if architecture == "x86_64" else architecture
        detail = f"{what}: not the platform cpu-x86_64, whose goldens do not apply here"
        yield warning("CPU", detail, fix="reprokit golden promote, for a golden of this platform")
    cores = cpu.get("usable") or 1
    if cores > 1:
        yield ok("cores", f"{cores} usable")
    else:
        yield warning("cores", "1 usable: the two runs are made one after the other")
    total = (seen.host.get("memory") or {}).get("total_bytes") or 0
    yield _amount("memory", total, _LEAST_MEMORY, _GOOD_MEMORY, fix="train on a machine with more")
    free = (seen.host.get("disk") or {}).get("free_bytes") or 0
    fix = "free some space: reprokit runs prune, docker image prune"
    yield _amount("disk", free, _LEAST_DISK, _GOOD_DISK, fix=fix, left="free")


def _amount(name: str, found: int, least: int, good: int, *, fix: str, left: str = "") -> HostFinding:
    detail = f"{found / _GIB:.1f} GiB {left}".rstrip()
    if found >= good:
        return ok(name, detail)
    lacking = warning if found >= least else lack
    return lacking(name, f"{detail}, {good // _GIB} GiB recommended", fix=fix)


def _accelerators(seen: HostFacts) -> Iterator[HostFinding]:
    yield from of_gpus(seen)
    if tpu := seen.host.get("tpu"):
        yield ok("TPU", f"{tpu.get('name')}, {tpu.get('chips')} chips")
    else:
        yield absent("TPU", "none found")


def _extras(seen: HostFacts) -> Iterator[HostFinding]:
    extras = _EXTRAS if seen.engine.reachable else _EXTRAS[1:]  # without an engine nothing is built
    for name, programs, without, package in extras:
        if found := next((path for path in map(seen.programs.get, programs) if path), None):
            yield ok(name, found)
        else:
            yield absent(name, f"{programs[0]} is not installed: {without}", fix=_install(seen, package))


def _install(seen: HostFacts, package: str) -> str:
    return f"brew install {package}" if _system(seen) == "Darwin" else f"sudo apt-get install {package}"


def _system(seen: HostFacts) -> str:
    return str((seen.host.get("os") or {}).get("system"))
