"""What ``--good`` and ``--bad`` name: a lock, a golden whose lock is looked for, or today's lock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reprokit import golden
from reprokit.capture import git_history
from reprokit.core.records import digest_bytes
from reprokit.errors import ReprokitError, UsageError
from reprokit.features.bisect_packages.solving import Solver
from reprokit.images.packages import read_packages

_MOST_COMMITS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a search.

    Attributes:
        told: What it is, for a person.
        text: Its lock.
    """

    told: str
    text: str


def end_named(named: str | None, *, lock: Path, root: Path, solver: Solver) -> End:
    """What was named; None is today's lock.

    Args:
        named: A lock, or the folder of a golden.
        lock: The environment's lock as it is today.
        root: The project's folder.
        solver: Makes a lock of versions.

    Raises:
        UsageError: There is no such file, or it is no lock.
        GoldenError: The golden cannot be read.
        ImageError: Its lock cannot be made again.
    """
    if named is None:
        return End(told="today's lock", text=lock.read_text(encoding="utf-8"))
    path = Path(named)
    if path.is_dir():
        return _of_golden(path, lock=lock, root=root, solver=solver)
    if not path.is_file():
        raise UsageError("there is no such lock", where=named, expected="a lock, or the folder of a golden")
    if not read_packages(path):
        raise UsageError("the lock holds no package", where=named)
    return End(told=named, text=path.read_text(encoding="utf-8"))


def _of_golden(path: Path, *, lock: Path, root: Path, solver: Solver) -> End:
    """The lock that a golden was made with: of today, of a commit, or made again from what it recorded."""
    blessed = golden.load(path)
    wanted = blessed.provenance.digests.get("lock")
    for content in _versions_of(lock, path, root=root):
        if digest_bytes(content) == wanted:
            return End(told=f"the lock of {path}", text=content.decode("utf-8"))
    inside = blessed.provenance.environment.get("inside") or {}
    packages = inside.get("packages") or {}
    text = solver.lock_of({str(name): str(version) for name, version in packages.items()})
    if not packages or text is None:
        raise UsageError(
            "the lock of this golden is in no commit, and cannot be made again from its record",
            where=str(path),
            fix="name a lock: --good FILE",
        )
    return End(told=f"the packages that {path} recorded", text=text)


def _versions_of(lock: Path, golden_path: Path, *, root: Path) -> list[bytes]:
    """The lock as it is, and as the commits have it: the golden's own first."""
    found = [lock.read_bytes()]
    name = lock.relative_to(root).as_posix()
    try:
        commits = [git_history.last_commit(golden_path)]
    except ReprokitError:
        commits = []
    logged = git_history.run_git(root, "log", f"-{_MOST_COMMITS}", "--format=%H", "--", name)
    for commit in (*commits, *logged.stdout.split()):
        try:
            found.append(git_history.file_at(root, commit, name))
        except ReprokitError:  # the commit has none, or the golden is in another repository
            continue
    return found
