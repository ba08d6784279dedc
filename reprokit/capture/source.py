"""The source tree: which commit, what differs from it, where it came from.

What differs is decided by content (``work_tree``), so neither git's index nor anyone's settings can hide a
change. The difference is recorded as a digest over the contents of every file that is not as committed. An
address loses its credentials.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reprokit.capture.git_objects import GitError, Repository, ask, find_repository
from reprokit.capture.work_tree import TreeComparison, compare, object_of
from reprokit.redaction import redact_url

#: More than this is not read for a digest: it would take longer than the run it describes.
MOST_BYTES = 2 << 30
_MOST_NAMED = 5


def capture_source(
    project: Path, *, apart_from: Sequence[str] = ("runs", "reports"), only: Sequence[str] = ()
) -> dict[str, Any]:
    """What git says of the tree that holds ``project``, apart from its folders of results.

    With ``only``, files and folders of the project, the others of its commit need not be there.

    Returns:
        ``commit``, ``branch`` (None when detached), ``dirty``, ``unrecorded`` (whether something is
        neither committed nor staged), ``changed`` (number of files that are not as committed),
        ``changed_files`` (the first of them, where there are any), ``diff_digest`` (None when clean),
        ``folder`` (the project's place in the tree), ``remote``, ``shallow`` and ``missing`` (field →
        reason). Where there is no repository or no git: only ``missing``.
    """
    repository = find_repository(project)
    if repository is None:
        return {"missing": {"commit": "not in a git repository"}}
    if repository.root is None:
        return {"missing": {"commit": "a repository without a work tree"}}
    try:
        return _facts(repository, repository.root, project.resolve(), apart_from=apart_from, only=only)
    except GitError as error:
        return {"missing": {"commit": error.what}}
    except OSError as error:
        return {"missing": {"commit": f"cannot read {error.filename}: {error.strerror}"}}


def _facts(
    repository: Repository, root: Path, project: Path, *, apart_from: Sequence[str], only: Sequence[str]
) -> dict[str, Any]:
    missing: dict[str, str] = {}
    folder = project.relative_to(root).as_posix()
    results, there = (
        tuple(f"{'' if folder == '.' else folder + '/'}{name}/" for name in names)
        for names in (apart_from, only)
    )
    found = compare(repository, apart_from=results, only=there)
    if not found.commit:
        missing["commit"] = "the repository has no commit yet"
    return {
        "commit": found.commit or None,
        "branch": _branch(repository),
        "dirty": bool(found.changed),
        "unrecorded": _is_unrecorded(repository, root, found),
        "changed": len(found.changed),
        **({"changed_files": list(found.changed[:_MOST_NAMED])} if found.changed else {}),
        "diff_digest": _digest(root, found, missing) if found.changed else None,
        "folder": folder,
        "remote": _remote(repository, missing),
        "shallow": (repository.common_dir / "shallow").is_file(),
        "missing": missing,
    }


def _branch(repository: Repository) -> str | None:
    name = ask(repository, "symbolic-ref", "--quiet", "HEAD", accepted=(0, 1)).decode("utf-8", "replace")
    return name.strip().removeprefix("refs/heads/") or None


def _is_unrecorded(repository: Repository, root: Path, found: TreeComparison) -> bool:
    """Whether something differs from the commit that the index does not hold as it is."""
    staged: dict[str, tuple[str, str]] = {}
    for row in ask(repository, "ls-files", "--stage", "-z").split(b"\0"):
        facts, _, name = row.decode("utf-8", "surrogateescape").partition("\t")
        if name:
            mode, oid, _ = facts.split(" ")
            staged[name] = (mode, oid)
    return any(not _is_staged(root, name, staged, found.submodules) for name in found.changed)


def _is_staged(
    root: Path, name: str, staged: Mapping[str, tuple[str, str]], submodules: Mapping[str, str]
) -> bool:
    mode, oid = staged.get(name, ("", ""))
    if name in submodules:
        return submodules[name] == oid
    path = root / name
    try:
        status = path.lstat()
    except FileNotFoundError:
        return not oid
    kind = "120000" if stat.S_ISLNK(status.st_mode) else "100644"
    if status.st_mode & stat.S_IXUSR and kind == "100644":
        kind = "100755"
    if mode != kind or not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        return False
    return status.st_size <= MOST_BYTES and object_of(path, status, like=oid) == oid


def _digest(root: Path, found: TreeComparison, missing: dict[str, str]) -> str | None:
    """SHA-256 over path, kind and content of every file that is not as committed."""
    sha = hashlib.sha256()
    left = MOST_BYTES
    for name in found.changed:
        path = root / name
        try:
            status = path.lstat()
            if name in found.submodules:
                state = f"submodule {found.submodules[name]}"
            elif stat.S_ISREG(status.st_mode):
                left -= status.st_size
                if left < 0:
                    missing["diff_digest"] = f"more than {MOST_BYTES >> 30} GiB differ from the commit"
                    return None
                state = f"{'executable' if status.st_mode & stat.S_IXUSR else 'file'} {_sha256_of(path)}"
            elif stat.S_ISLNK(status.st_mode):
                state = f"link {os.readlink(path)}"  # noqa: PTH115 - as it is written
            else:
                state = f"no file {stat.S_IFMT(status.st_mode):o}"
        except (FileNotFoundError, NotADirectoryError):
            state = "deleted"
        except OSError as error:
            missing["diff_digest"] = f"cannot read {name}: {error.strerror}"
            return None
        sha.update(f"{name}\0{state}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{sha.hexdigest()}"


def _sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _remote(repository: Repository, missing: dict[str, str]) -> str | None:
    said = ask(repository, "config", "--local", "--get-regexp", r"^remote\..*\.url$", accepted=(0, 1))
    lines = said.decode("utf-8", "replace").splitlines()
    addresses = dict(line.split(" ", 1) for line in lines if " " in line)
    if not addresses:
        missing["remote"] = "the repository has no remote"
        return None
    return redact_url(addresses.get("remote.origin.url", next(iter(addresses.values()))))
