"""Gives a program a copy of the folders whose content is pinned: source files only, whole and digested.

The digest of a copy is compared before the program begins. Whether something in it was moved, written or put
back while the program ran is seen by sizes, times and inodes: a change time cannot be set back.

A program that can write nothing outside its own folders reads a copy that the runs of its backend share. Any
other gets one of its own, in its run folder: what it writes there no other run reads.
"""

from __future__ import annotations

import secrets
import shutil
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from reprokit.core.records import Mount, Outcome, RunResult, RunSpec
from reprokit.core.run_record import RunOwner
from reprokit.errors import WorkspaceError
from reprokit.execution.outcome import Explanation, cannot_write
from reprokit.execution.source_files import State, digest_of, source_files, state_of, states_of
from reprokit.file_tree import statuses
from reprokit.layout import MOUNTED
from reprokit.workspace import is_alive, machine_id, sha256_of_files, this_process


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedCopies:
    """The copies that a run is made with.

    Attributes:
        spec: The run, with a copy in the place of every mount that has a digest.
        copies: Name of the mount → its copy.
        problem: Why it cannot begin, or None.
    """

    spec: RunSpec
    copies: Mapping[str, _Copy] = field(default_factory=dict)
    problem: Explanation | None = None

    def unless_changed(self, result: RunResult) -> RunResult:
        """The result; ``mounts_changed`` where a copy was changed, or changed and put back."""
        changed = [name for name, copy in self.copies.items() if copy.has_changed()]
        if not result.is_judged or not changed:
            return result
        why = _no_longer(changed[0], "while the run was under way")
        return replace(result, outcome=why.outcome, message=why.message, remedy=why.remedy)


@contextmanager
def mounted_copies(
    spec: RunSpec, run_dir: Path, *, shared: SharedCopies | None = None
) -> Iterator[MountedCopies]:
    """A copy of every mount that has a digest.

    Args:
        spec: The run.
        run_dir: Its folder, in which copies of its own lie meanwhile.
        shared: The copies of other runs too, where the program cannot write to them; None for its own.
    """
    if not any(mount.digest for mount in spec.mounts):
        yield MountedCopies(spec=spec)
        return
    own = run_dir / MOUNTED
    try:
        yield _made(spec, own, shared=shared if shared is not None and shared.are_for(run_dir) else None)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _made(spec: RunSpec, own: Path, *, shared: SharedCopies | None) -> MountedCopies:
    try:
        copies = {
            mount.name: shared.of(mount) if shared is not None else _own_copy(mount, own)
            for mount in spec.mounts
            if mount.digest
        }
    except OSError as error:
        return MountedCopies(spec=spec, problem=cannot_write(str(own.parent), error))
    wrong = next((name for name, copy in copies.items() if not copy.is_whole), None)
    mounts = tuple(
        replace(mount, path=str(copies[mount.name].folder)) if mount.digest else mount
        for mount in spec.mounts
    )
    return MountedCopies(
        spec=replace(spec, mounts=mounts),
        copies=copies,
        problem=None if wrong is None else _no_longer(wrong, "before the run began"),
    )


class SharedCopies:
    """Copies that runs share, one of each mount, next to the run folders; removed with this object.

    Only for programs that cannot write there. Safe to use from several threads.

    Args:
        workspace: The runs folder.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._copies: dict[Mount, _Copy] = {}
        self._folders: list[Path] = []
        weakref.finalize(self, _remove, self._folders)

    def are_for(self, run_dir: Path) -> bool:
        """Whether a run's folder is in the workspace: a container engine sees what is there."""
        return run_dir.resolve().is_relative_to(self._workspace.resolve())

    def of(self, mount: Mount) -> _Copy:
        """A copy as its folder is now; a new one where someone has changed the one that there was.

        Raises:
            OSError: It cannot be written.
        """
        with self._lock:
            copy = self._copies.get(mount)
            if copy is None or copy.has_changed() or not _is_as_planned(mount):
                copy = self._copies[mount] = self._made(mount)
            return copy

    def _made(self, mount: Mount) -> _Copy:
        if not self._folders:
            _remove_left(self._workspace)
        me = this_process()
        name = f"{MOUNTED}-{machine_id()}-{me['pid']}-{me['started']:.2f}-{secrets.token_hex(4)}"
        place = self._workspace.resolve() / name
        self._folders.append(place)
        try:
            copy_sources(Path(mount.path), place / mount.name)
        except OSError:  # a full disk, say: half a copy takes the room that the run's record needs
            shutil.rmtree(place, ignore_errors=True)
            raise
        return _looked_at(mount, place / mount.name, is_shared=True)


def copy_sources(source: Path, target: Path) -> None:
    """Copy the source files of a folder, for any user to read.

    Raises:
        OSError: It cannot be written.
    """
    target.parent.mkdir(exist_ok=True)
    for path in source_files(source):
        own = target / path.relative_to(source)
        if not own.parent.is_dir():
            own.parent.mkdir(parents=True)
        with suppress(FileNotFoundError):  # removed since it was listed; the digest will say so
            shutil.copyfile(path, own)
            own.chmod(0o644)  # whoever the program runs as
    for folder in (target.parent, target, *(path for path in target.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Copy:
    """A copy of a mount.

    Attributes:
        folder: Where it is.
        is_shared: Whether other runs read it too; then nothing at all may be added to it.
        seen: What lay there before its content was read.
        is_whole: Whether it has the content that the mount's digest says.
    """

    folder: Path
    is_shared: bool
    seen: Mapping[str, State]
    is_whole: bool

    def has_changed(self) -> bool:
        """Whether it is no longer what it was, or is again after it was changed."""
        try:
            return _look(self.folder, is_shared=self.is_shared) != self.seen
        except OSError:
            return True


def _own_copy(mount: Mount, place: Path) -> _Copy:
    target = place / mount.name
    shutil.rmtree(target, ignore_errors=True)
    copy_sources(Path(mount.path), target)
    return _looked_at(mount, target.resolve(), is_shared=False)


def _looked_at(mount: Mount, folder: Path, *, is_shared: bool) -> _Copy:
    seen = _look(folder, is_shared=is_shared)
    try:  # read, whatever is known: this is what the program reads
        is_whole = sha256_of_files(folder, source_files(folder)) == mount.digest
    except (OSError, WorkspaceError):
        is_whole = False
    return _Copy(folder=folder, is_shared=is_shared, seen=seen, is_whole=is_whole)


def _look(folder: Path, *, is_shared: bool) -> dict[str, State]:
    """The state of all that lies in a shared copy; of a run's own, of the files that are digested."""
    if not is_shared:
        return states_of(folder)
    return {name: state_of(status) for name, status in statuses(folder).items()}


def _is_as_planned(mount: Mount) -> bool:
    try:
        return digest_of(Path(mount.path)) == mount.digest
    except (OSError, WorkspaceError):
        return False


def _remove(folders: list[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_left(workspace: Path) -> None:
    """Remove the copies of tools that were killed."""
    for folder in workspace.glob(f"{MOUNTED}-*-*-*-*"):
        machine, pid, started = folder.name.split("-")[1:4]
        try:
            owner = RunOwner(machine=machine, pid=int(pid), started=float(started))
        except ValueError:
            owner = RunOwner(machine=machine)  # no tool names a copy so
        if not is_alive(owner):
            shutil.rmtree(folder, ignore_errors=True)


def _no_longer(name: str, when: str) -> Explanation:
    return Explanation(
        outcome=Outcome.MOUNTS_CHANGED,
        message=f"the mounted folder {name} changed {when}",
        remedy="run it again, and leave the package as it is until the run has ended",
    )
