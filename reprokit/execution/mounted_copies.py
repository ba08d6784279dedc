"""Gives a program a copy of the folders whose content is pinned: source files only, whole and digested.

Python prefers a ``__pycache__`` and a compiled module to the source beside them, and neither is in any
digest. So they are left out, and what is copied is compared with the digest before and after the run.

    >>> digest_of(Path("reprokit"))
    'sha256:5d1e…'
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from reprokit.core.records import Mount, Outcome, RunResult, RunSpec
from reprokit.errors import WorkspaceError
from reprokit.execution.outcome import Explanation, cannot_write
from reprokit.layout import MOUNTED
from reprokit.workspace import sha256_of_files

_COMPILED = (".pyc", ".pyo", ".so", ".pyd")


def digest_of(folder: Path) -> str:
    """Digest of the files of a folder that a copy has.

    Raises:
        WorkspaceError: There is no such folder, or nothing in it.
    """
    return sha256_of_files(folder, source_files(folder))


def source_files(folder: Path) -> list[Path]:
    """Every file below a folder, sorted, but for compiled ones; linked folders are not entered."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in _COMPILED)
    return sorted(path for path in files if "__pycache__" not in path.relative_to(folder).parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedCopies:
    """The copies that a run is made with.

    Attributes:
        spec: The run, with a copy in the place of every mount that has a digest.
        problem: Why it cannot begin, or None.
    """

    spec: RunSpec
    problem: Explanation | None = None

    def unless_changed(self, result: RunResult) -> RunResult:
        """The result; ``mounts_changed`` where a copy is not what its digest says any more."""
        if not result.is_judged or not (changed := _changed(self.spec.mounts)):
            return result
        why = _no_longer(changed, "while the run was under way")
        return replace(result, outcome=why.outcome, message=why.message, remedy=why.remedy)


@contextmanager
def mounted_copies(spec: RunSpec, run_dir: Path) -> Iterator[MountedCopies]:
    """A copy of every mount that has a digest; the copies lie in the run folder meanwhile."""
    if not any(mount.digest for mount in spec.mounts):
        yield MountedCopies(spec=spec)
        return
    folder, problem = run_dir / MOUNTED, None
    try:
        try:
            spec = replace(
                spec,
                mounts=tuple(_copied(mount, folder) if mount.digest else mount for mount in spec.mounts),
            )
        except OSError as error:
            problem = cannot_write(str(run_dir), error)
        if problem is None and (changed := _changed(spec.mounts)):
            problem = _no_longer(changed, "before the run began")
        yield MountedCopies(spec=spec, problem=problem)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(mount: Mount, copies: Path) -> Mount:
    source, target = Path(mount.path), copies / mount.name
    shutil.rmtree(target, ignore_errors=True)
    copies.mkdir(exist_ok=True)
    for path in source_files(source):
        own = target / path.relative_to(source)
        own.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # removed since it was listed; the digest will say so
            shutil.copyfile(path, own)
            own.chmod(0o644)  # whoever the program runs as
    for folder in (copies, target, *(path for path in target.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    return replace(mount, path=str(target.resolve()))


def _changed(mounts: Iterable[Mount]) -> str:
    """The name of the first mount that is not what its digest says, or ""."""
    for mount in mounts:
        try:
            if mount.digest and digest_of(Path(mount.path)) != mount.digest:
                return mount.name
        except (OSError, WorkspaceError):
            return mount.name
    return ""


def _no_longer(name: str, when: str) -> Explanation:
    return Explanation(
        outcome=Outcome.MOUNTS_CHANGED,
        message=f"the mounted folder {name} changed {when}",
        remedy="run it again, and leave the package as it is until the run has ended",
    )
