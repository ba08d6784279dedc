"""Reads the host: everything that the doctor's findings are based on. Nothing is changed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from reprokit import capture, extras
from reprokit.capture.gpus import GpuSurvey, survey_gpus
from reprokit.core.environment_record import MachineFacts
from reprokit.core.numerics import CUDA
from reprokit.errors import ReprokitError
from reprokit.execution import accelerators, engine_status
from reprokit.execution.engine_status import EngineStatus
from reprokit.images import cache as image_cache
from reprokit.images import interpreters, locks, packages
from reprokit.project import Project

#: The versions of Python that the tool runs on: from the first, and below the second.
PYTHONS = ((3, 11), (3, 16))
_OTHERS = {"reprokit", "reprokit-ml"}  # of other people, on the package index
_PROGRAMS = ("git", "make", "mmdebstrap", "qemu-x86_64", "qemu-x86_64-static", "nvidia-ctk", "ssh-keygen")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """What was read of the host; ``examine`` needs nothing else."""

    host: MachineFacts  # as `capture.capture_host` gives it
    engine: EngineStatus
    programs: Mapping[str, str | None]  # name → path, or None where it is not installed
    python: tuple[int, int]  # major and minor version of the Python that runs the tool
    locks: Mapping[str, int]  # variant → number of locked packages
    locks_problem: str  # why the locks cannot be used, or "" (no `images/` at all is no problem)
    lock_pythons: Mapping[str, str]  # variant → minor version that its lock is for
    pythons: tuple[str, ...]  # the tool's own and those of locked environments, where this host has them
    cache: str  # the cache folder, or ""
    cache_problem: str  # why it cannot be written, or ""
    held: Mapping[str, int] = field(default_factory=dict)  # bytes that environments take, by part
    others: tuple[str, ...] = ()  # distributions of other projects that are called like this tool
    has_make: bool = True  # whether the Makefile that calls this tool is here
    gpus: GpuSurvey = field(default_factory=GpuSurvey)  # as `capture.survey_gpus` gives it
    cdi: tuple[str, ...] = ()  # files that say how containers get a GPU
    minimum_driver: str = ""  # that the variant `cuda` needs, or "" where there is none


def look(folder: Path) -> HostFacts:
    """Read the host; ``folder`` is at or below a project's root."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    counts, pythons, problem = _locks(folder)
    cache, cache_problem = _cache()
    host = capture.capture_host(folder)
    return HostFacts(
        host=host,
        engine=engine_status.engine_status(),
        programs={name: shutil.which(name) for name in _PROGRAMS},
        python=sys.version_info[:2],
        locks=counts,
        locks_problem=problem,
        lock_pythons=pythons,
        pythons=tuple(one for one in sorted({here, *pythons.values()}) if interpreters.on_this_host(one)),
        cache=cache,
        cache_problem=cache_problem,
        held=_sizes(Path(cache)) if cache and extras.is_installed("docker") else {},
        others=_others(),
        has_make=Project.around(folder).has_make,
        gpus=survey_gpus() if host.get("gpus") else GpuSurvey(),
        cdi=accelerators.cdi_specifications(),
        minimum_driver=_minimum_driver(folder),
    )


def _others() -> tuple[str, ...]:
    """Name and version of other projects' distributions, whose files overwrite those of this one."""
    named = (
        distribution
        for distribution in metadata.distributions()
        if _plain(distribution.metadata["Name"]) in _OTHERS
    )
    return tuple(sorted({f"{one.metadata['Name']} {one.version}" for one in named if not _is_ours(one)}))


def _plain(name: str | None) -> str:
    return (name or "").lower().replace("_", "-")


def _is_ours(one: metadata.Distribution) -> bool:
    """Whether it is this tool, installed from a checkout before it had a name of its own."""
    return str(one.metadata["Summary"]).endswith("verified reproducible training.")


def _locks(folder: Path) -> tuple[dict[str, int], dict[str, str], str]:
    """Number of packages and Python of every variant; and what is wrong with the locks, or ""."""
    try:
        root = locks.project_around(folder)
    except ReprokitError:
        return {}, {}, ""
    try:
        variants = locks.read_lock(root).variants.values()
        counts = {variant.name: len(packages.read_packages(variant.packages_path)) for variant in variants}
    except ReprokitError as error:
        return {}, {}, str(error)
    return counts, {variant.name: variant.python for variant in variants}, ""


def _sizes(cache: Path) -> dict[str, int]:
    from reprokit.images import housekeeping

    return housekeeping.sizes(cache)


def _minimum_driver(folder: Path) -> str:
    """Of the variant ``cuda``; "" where there is none, or its lock cannot be read (``_locks`` says why)."""
    try:
        return locks.read_lock(locks.project_around(folder)).variants[CUDA].minimum_driver or ""
    except (ReprokitError, KeyError):
        return ""


def _cache() -> tuple[str, str]:
    try:
        folder = image_cache.cache_folder(None)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (ReprokitError, OSError) as error:
        return "", str(error)
    return str(folder), ""
