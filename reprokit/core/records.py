"""What the parts of reprokit hand to each other: a plan for a run, and how it ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

SCHEMA_VERSION = 1

#: Exit code of a training that was asked for its first updates only: never 0, so never COMPLETE.
STOPPED_EARLY = 85


class Outcome(StrEnum):
    """How a run ended, each kind of failure with a word of its own.

    >>> read_run(list_runs()[0]).outcome == Outcome.COMPLETED
    True
    """

    COMPLETED = "completed"
    CRASHED = "crashed"
    SIGNALLED = "signalled"
    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    COMMAND_MISSING = "command_missing"
    IMAGE_MISSING = "image_missing"
    IMAGE_BUILD_FAILED = "image_build_failed"
    ENGINE_MISSING = "engine_missing"
    ENGINE_LOST = "engine_lost"
    START_REFUSED = "start_refused"
    DISK_FULL = "disk_full"
    RUN_FOLDER_NOT_WRITABLE = "run_folder_not_writable"
    WORKSPACE_BUSY = "workspace_busy"
    MOUNTS_CHANGED = "mounts_changed"
    DATA_UNAVAILABLE = "data_unavailable"
    UPLOAD_FAILED = "upload_failed"
    INTERRUPTED = "interrupted"
    STOPPED_AT_GOLDEN = "stopped_at_golden"
    PRUNED = "pruned"
    SCHEDULER_UNAVAILABLE = "scheduler_unavailable"
    MACHINE_LOST = "machine_lost"  # what it ran on was gone before its end
    ATTEMPTS_DIFFER = "attempts_differ"  # another attempt at the same run has other records


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A path of the host that the program may read; ``{code}`` in a command is the mount ``code``.

    With a ``digest`` it gets a copy of the folder's source files, which must have that digest
    (``execution.mounted_copies``). With a ``folder`` it lies in a folder of that name with others,
    and ``{folder}`` is what a command names.
    """

    name: str
    path: str
    digest: str = ""
    folder: str = ""

    @property
    def target(self) -> str:
        """Its path below the folder of mounts."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What a run may use.

    Attributes:
        memory_bytes: Hard limit, or None for the backend's default.
        pids: Most processes and threads at one time.
        timeout_s: Wall-clock limit in seconds, or None.
        cpus: Core numbers that the run is pinned to, or None for all.
        gpus: GPUs that the run sees, by their numbers in the order of the PCI bus, or None for all.
        shared_memory_bytes: Of a container.
        network: Whether a container may use the network.
    """

    memory_bytes: int | None = None
    pids: int = 512
    timeout_s: float | None = None
    cpus: tuple[int, ...] | None = None
    gpus: tuple[int, ...] | None = None
    shared_memory_bytes: int = 1 << 30
    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Realisation:
    """A variant made ready to run: a container image, or a virtual environment.

    Attributes:
        variant: ``cpu``, ``cuda`` or ``tpu``.
        kind: ``image`` or ``venv``.
        reference: Image ID (``sha256:…``) or absolute path of the environment's folder.
        digest: Image ID, or digest of the lock and interpreter that made the environment.
        python: Path of the interpreter, inside the image or on the host.
        lock_digest: SHA-256 of the lock file, ``sha256:…``.
        base: What the image was built on (``name@sha256:…`` or ``bootstrap:sha256:…``).
        device_needs: What its accelerator needs of the host, as ``images/lock.toml`` says:
            ``minimum_driver``, ``devices``, ``host_network``, ``shared_memory_gib``.
    """

    variant: str
    kind: str
    reference: str
    digest: str
    python: str
    lock_digest: str
    base: str | None = None
    device_needs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFiles:
    """Files that runs wrote: those that are known, and whatever changed in some folders meanwhile.

    Attributes:
        files: Their paths.
        folders: Caches, in which files may lie too deep to be known.
        since: When the runs began, seconds since 1970.
        until: When they had ended.
    """

    files: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()
    since: float = 0.0
    until: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTree:
    """A tree of files of which a run on this host may use none, since it is of another one.

    Attributes:
        root: Its folder.
        files: Their names in it: what lies there besides is no one's, such as data that git ignores.
        runs: Folders of runs and goldens: of these a run may open its own alone, and what its command or
            mounts name.
        written: What runs of another side wrote elsewhere, such as in a cache.
        left: What earlier runs of the same left elsewhere; whether it is opened is asked, and judged apart.
        left_since: When the first of these began, seconds since 1970; whether any file is opened that was
            changed since, before this run began, is asked likewise. 0 for no earlier run.
        lists: Whether a folder of them that is listed counts too: the names in it are of another side.
        unwatched: Why it is not watched for any; "" where it is.
    """

    root: str
    files: frozenset[str]
    runs: tuple[str, ...] = ()
    written: WrittenFiles = field(default_factory=WrittenFiles)
    left: frozenset[str] = frozenset()
    left_since: float = 0.0
    lists: bool = False
    unwatched: str = ""

    @classmethod
    def of_runs(cls, *folders: object) -> OtherTree:
        """The other runs and the goldens of folders: who opens a file of them may have copied its numbers."""
        return cls(root=str(folders[0]), files=frozenset(), runs=tuple(map(str, folders)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """Everything a backend needs to know to realise one run.

    ``command`` may hold the placeholders ``{seed}``, ``{run_dir}``, ``{device}``, ``{python}``
    and one for each mount's name; the backend fills in the paths that hold where it runs.

    Attributes:
        run_id: Name of the run folder, unique in ``runs/<recipe>/``.
        seed: The seed, a non-negative integer.
        device: ``cpu``, ``cuda`` or ``tpu``.
        command: Argument list, never a shell line.
        environment: Variables set before the program starts.
        inherit_environment: True for a plain command, which keeps the caller's variables.
        realisation: The pinned environment, or None for a plain command.
        mounts: What the program may read besides its environment.
        working_dir: Where the program starts (a mount's placeholder or a host path), or None.
        attempt: 1 for the first try.
        confined: Whether a program on this host may write to its own folders only, as in a container; where
            the system cannot see to that, ``RunResult.isolation`` says so.
        other_tree: The files that a program on this host is watched for, and may not open; None for none.
    """

    recipe: str
    run_id: str
    seed: int
    device: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    inherit_environment: bool = False
    realisation: Realisation | None = None
    mounts: tuple[Mount, ...] = ()
    working_dir: str | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    attempt: int = 1
    confined: bool = False
    other_tree: OtherTree | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a backend says that a run ended.

    Attributes:
        exit_code: What the program returned, or None if it never returned.
        signal: Name of the signal that ended it (``SIGKILL``), or None.
        message: One sentence: what happened. Empty when completed.
        remedy: What to do about it. Empty when completed.
        started_at: ISO 8601, UTC.
        ended_at: ISO 8601, UTC.
        duration_s: Wall clock, seconds.
        isolation: What confined the program, as the engine reports it (network, read_only_root,
            capabilities, user, …), or ``{"backend": "local"}``.
        outside_code: Of a pinned program on this host, which code it used that was not its own: ``files``
            (path → SHA-256), ``unknown`` (why there can be more); None of any other.
        other_tree: Which files it opened of a tree or run that is not its own: ``files``, ``unknown``; None
            where it was not to be watched for any.
        needs_privileges: A program that it started, and that did not get its privileges since it was watched.
    """

    outcome: Outcome
    exit_code: int | None
    signal: str | None = None
    message: str = ""
    remedy: str = ""
    started_at: str
    ended_at: str
    duration_s: float
    isolation: Mapping[str, Any] = field(default_factory=dict)
    outside_code: Mapping[str, Any] | None = None
    other_tree: Mapping[str, Any] | None = None
    needs_privileges: str = ""

    @property
    def completed(self) -> bool:
        return self.outcome is Outcome.COMPLETED and self.exit_code == 0

    @property
    def is_judged(self) -> bool:
        """Whether its metrics are evidence: it completed, or they showed enough before it was stopped."""
        return self.completed or self.outcome is Outcome.STOPPED_AT_GOLDEN


def to_json(value: Any) -> Any:
    """Turn a frozen record into plain JSON types, field names as keys."""
    return asdict(value)


#: Most values are of these; to ask whether one is a ``Mapping`` takes ten times as long.
_PLAIN = (str, int, float)


def is_leaf(value: Any) -> bool:
    """Whether a value of a nested record is a field of its own: a list of plain values is one too."""
    if value is None or isinstance(value, _PLAIN):
        return True
    if isinstance(value, Mapping):
        return not value
    return not isinstance(value, list | tuple) or not any(
        isinstance(item, Mapping | list | tuple) for item in value
    )


def leaves(record: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every field of a nested record with its path: keys, and positions in lists of records."""
    if is_leaf(record):
        if path:
            yield path, record
        return
    for name, value in record.items() if isinstance(record, Mapping) else enumerate(record):
        if value is None or isinstance(value, _PLAIN):
            yield (*path, name), value
        else:
            yield from leaves(value, (*path, name))


def named_leaves(value: Any, *, at: str = "") -> Iterator[tuple[str, Any]]:
    """Everything inside a value that holds nothing more, under a name such as ``states[0].mean``."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from named_leaves(inner, at=f"{at}.{name}" if at else str(name))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from named_leaves(inner, at=f"{at}[{index}]")
    else:
        yield at, value


def canonical_json(value: Any) -> str:
    """One spelling for one value: sorted keys, no spaces, full precision; a ``ValueError`` for NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, as ``sha256:<64 hex digits>``."""
    return digest_bytes(canonical_json(value).encode("utf-8"))


def digest_bytes(data: bytes) -> str:
    """SHA-256 of some bytes, as ``sha256:<64 hex digits>``."""
    return "sha256:" + hashlib.sha256(data).hexdigest()
