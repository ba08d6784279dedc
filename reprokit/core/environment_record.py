"""What ``environment.json`` says, as far as code asks for it by name; each further key is a fact of its own.

These are dictionaries: whatever a record holds is compared leaf by leaf with that of another run, whether
this version knows its name or not. ``records.environment_json`` reads one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, cast


class NamedVersion(TypedDict, total=False):
    """Something that has a name and a version."""

    name: str | None
    version: str | None


class SystemFacts(TypedDict, total=False):
    """The operating system; ``name`` is that of the distribution."""

    system: str | None
    name: str | None


class PythonFacts(TypedDict, total=False):
    """The interpreter."""

    implementation: str | None
    version: str | None
    minor: str | None


class CpuFacts(TypedDict, total=False):
    """A CPU: inside with the instruction sets that the program may use, of the host with all that it has."""

    architecture: str | None
    avx2: bool | None
    avx512f: bool | None
    model: str | None
    vendor: str | None
    features: Sequence[str] | None
    physical: int | None
    logical: int | None
    usable: int | None


class DeviceFacts(TypedDict, total=False):
    """A GPU or TPU, or inside what was trained on; ``chips`` of a TPU."""

    kind: str | None
    name: str | None
    driver: str | None
    compute_capability: Any
    chips: int | None
    memory_bytes: int | None


class NumericsFacts(TypedDict, total=False):
    """The numerics profile; ``missing`` are settings not in force, ``probe`` is how operations round."""

    profile: str | None
    version: int | None
    probe: Any
    missing: Any


class InsideFacts(TypedDict, total=False):
    """What was seen inside the environment that trained, by the program's own Python."""

    python: PythonFacts | None
    os: SystemFacts | None
    libc: NamedVersion | None
    cpu: CpuFacts | None
    device: DeviceFacts | None
    numerics: NumericsFacts | None
    variables: Mapping[str, str] | None
    packages: Mapping[str, str] | None
    sources: Any
    numpy: Any
    torch: Any
    missing: Mapping[str, str] | None


class SourceFacts(TypedDict, total=False):
    """The state of the project's tree."""

    commit: str | None
    branch: str | None
    dirty: bool | None
    unrecorded: bool | None
    missing: Mapping[str, str] | None


class MachineFacts(TypedDict, total=False):
    """The host; before a run also ``source``, and ``plain_inside`` of a plain command's Python."""

    os: SystemFacts | None
    libc: NamedVersion | None
    cpu: CpuFacts | None
    memory: Mapping[str, int | None] | None
    disk: Mapping[str, int | None] | None
    gpus: Sequence[DeviceFacts] | None
    tpu: DeviceFacts | None
    missing: Mapping[str, str] | None
    source: SourceFacts
    plain_inside: InsideFacts


class ImageFacts(TypedDict, total=False):
    """The pinned environment, without paths of the machine."""

    variant: str | None
    kind: str | None
    digest: str | None
    lock_digest: str | None
    base: str | None
    reference: str


class DifferingFact(TypedDict):
    """A field in which two records differ, as ``fingerprint.explain`` says it."""

    field: str
    expected: Any
    actual: Any
    can_change_numbers: str
    why: str


class EnvironmentRecord(TypedDict, total=False):
    """``environment.json``; empty where there is none that can be believed."""

    schema: int | None
    inside: InsideFacts | None
    host: MachineFacts | None
    source: SourceFacts | None
    image: ImageFacts | None
    limits: Mapping[str, Any] | None
    missing: Mapping[str, str] | None


def sections(record: EnvironmentRecord, names: Iterable[str]) -> EnvironmentRecord:
    """Some sections of a record; null where it has none of that name."""
    return cast("EnvironmentRecord", {name: record.get(name) for name in names})
