"""The source tree: which commit, what differs from it, where it came from.

This module knows git; it refuses to know what is in the files. The difference is recorded as a
digest over the contents of every file that is not as committed, untracked ones included, so it
does not depend on anybody's git settings. An address loses its credentials.

    >>> capture_source(Path("."))["dirty"]
    False
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reprokit.capture.redaction import redact_text, redact_url

if TYPE_CHECKING:
    from git import Repo
    from git.exc import GitCommandError

#: More than this is not read for a digest: it would take longer than the run it describes.
MOST_BYTES = 2 << 30


def capture_source(project: Path, *, apart_from: Sequence[str] = ("runs", "reports")) -> dict[str, Any]:
    """What git says of the tree that holds ``project``.

    Args:
        project: The project's folder, at or below the root of the work tree.
        apart_from: Folders of the project that hold results, not source.

    Returns:
        ``commit``, ``branch`` (None when detached), ``dirty``, ``unrecorded`` (whether something is
        neither committed nor staged), ``changed`` (number of files that are
        not as committed), ``diff_digest`` (None when clean), ``folder`` (the project's place in the
        tree), ``remote``, ``shallow`` and ``missing`` (field → reason). Where there is no repository
        or no git: only ``missing``.
    """
    try:
        import git  # noqa: PLC0415 - raises ImportError where the program git is not installed
    except ImportError:
        return {"missing": {"commit": "git is not installed"}}
    try:
        with git.Repo(project, search_parent_directories=True) as repository:
            if repository.working_tree_dir is None:
                return {"missing": {"commit": "a repository without a work tree"}}
            _ignore_callers_repository(repository)
            return _facts(repository, project.resolve(), apart_from=apart_from)
    except (git.exc.InvalidGitRepositoryError, git.exc.NoSuchPathError):
        return {"missing": {"commit": "not in a git repository"}}
    except git.exc.GitCommandNotFound:
        return {"missing": {"commit": "git is not installed"}}
    except git.exc.GitCommandError as error:
        return {"missing": {"commit": f"git failed: {_first_line(error)}"}}


def _ignore_callers_repository(repository: Repo) -> None:
    """A git hook sets variables that would lead our git to the hook's repository; outvote them."""
    right = {
        "GIT_DIR": str(repository.git_dir),
        "GIT_WORK_TREE": str(repository.working_tree_dir),
        "GIT_INDEX_FILE": str(Path(repository.git_dir) / "index"),
    }
    set_by_caller = {name: value for name, value in right.items() if name in os.environ}
    repository.git.update_environment(**set_by_caller, GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0")


def _facts(repository: Repo, project: Path, *, apart_from: Sequence[str]) -> dict[str, Any]:
    missing: dict[str, str] = {}
    root = Path(str(repository.working_tree_dir)).resolve()
    folder = project.relative_to(root).as_posix() if project.is_relative_to(root) else "."
    # A file-system monitor is a program that the repository's own settings name: not started here.
    output = repository.git(c="core.fsmonitor=false").status(
        "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames"
    )
    entries = [entry for entry in output.split("\0") if entry]
    header = dict(entry[2:].split(" ", 1) for entry in entries if entry.startswith("# "))
    results = tuple(f"{'' if folder == '.' else folder + '/'}{name}/" for name in apart_from)
    changed = sorted(
        path for path in map(_path_of, entries) if path is not None and not path.startswith(results)
    )
    commit = header.get("branch.oid")
    if commit in {None, "(initial)"}:
        missing["commit"] = "the repository has no commit yet"
        commit = None
    branch = header.get("branch.head")
    return {
        "commit": commit,
        "branch": None if branch == "(detached)" else branch,
        "dirty": bool(changed),
        "unrecorded": any(
            _is_unrecorded(entry) and not str(_path_of(entry)).startswith(results) for entry in entries
        ),
        "changed": len(changed),
        "diff_digest": _digest(repository, root, changed, missing) if changed else None,
        "folder": folder,
        "remote": _remote(repository, missing),
        "shallow": repository.git.rev_parse("--is-shallow-repository") == "true",
        "missing": missing,
    }


def _is_unrecorded(entry: str) -> bool:
    """Whether a status entry is of a file that the index does not hold as it is (git-status(1), XY)."""
    return entry[0] in "?u" or (entry[0] == "1" and entry[3] != ".")


def _path_of(entry: str) -> str | None:
    """The path in an entry of ``git status --porcelain=v2 -z`` (git-status(1))."""
    fields_before_path = {"1": 8, "u": 10, "?": 1}
    if entry[0] not in fields_before_path:
        return None
    return entry.split(" ", fields_before_path[entry[0]])[-1]


def _digest(repository: Repo, root: Path, changed: Sequence[str], missing: dict[str, str]) -> str | None:
    """SHA-256 over path, kind and content of every file that is not as committed."""
    sha = hashlib.sha256()
    left = MOST_BYTES
    for name in changed:
        path = root / name.rstrip("/")
        try:
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                left -= status.st_size
                if left < 0:
                    missing["diff_digest"] = f"more than {MOST_BYTES >> 30} GiB differ from the commit"
                    return None
                state = f"{'executable' if status.st_mode & stat.S_IXUSR else 'file'} {_sha256_of(path)}"
            elif stat.S_ISLNK(status.st_mode):
                state = f"link {path.readlink()}"
            else:
                state = f"folder {_submodule(repository, name)}"
        except FileNotFoundError:
            state = "deleted"
        except OSError as error:
            missing["diff_digest"] = f"cannot read {name}: {error.strerror}"
            return None
        sha.update(f"{name}\0{state}\n".encode("utf-8", "surrogateescape"))
    return f"sha256:{sha.hexdigest()}"


def _sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _submodule(repository: Repo, name: str) -> str:
    """Which commit a submodule is at, and whether it was changed (``-dirty``)."""
    text = repository.git.diff("--no-ext-diff", "--no-color", "--submodule=short", "HEAD", "--", name)
    return " ".join(line for line in text.splitlines() if line.startswith("+Subproject commit"))


def _remote(repository: Repo, missing: dict[str, str]) -> str | None:
    lines = repository.git.config("--get-regexp", r"^remote\..*\.url$", with_exceptions=False).splitlines()
    addresses = dict(line.split(" ", 1) for line in lines if " " in line)
    if not addresses:
        missing["remote"] = "the repository has no remote"
        return None
    return redact_url(addresses.get("remote.origin.url", next(iter(addresses.values()))))


def _first_line(error: GitCommandError) -> str:
    lines = [line.strip(" '\"") for line in str(error.stderr or "").splitlines()]
    said = next((line for line in lines if line.startswith("fatal:")), None)
    return redact_text(said or next((line for line in lines if line), f"exit status {error.status}"))
