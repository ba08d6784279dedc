"""The history of the source tree: who touched a folder last, what changed since, a commit checked out.

Whatever a caller's hook or shell says of another repository is not passed on, no program that the
repository's own settings name is started, nothing is fetched, and nothing of the work tree or its index is
changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from reprokit.capture.git_objects import (
    NO_PROGRAMS,
    NO_PROGRAMS_ENVIRONMENT,
    SUBMODULE,
    find_repository,
)
from reprokit.capture.large_files import KEPT, put_contents
from reprokit.capture.work_tree import compare
from reprokit.core.report_parts import FileChange
from reprokit.errors import CannotRunError, UsageError
from reprokit.redaction import redact_text

_TIMEOUT_S = 300.0
#: git reads the entries of all trees when it adds or removes one, and fails at one that is being written.
_LIST_OF_TREES = threading.Lock()
_LISTED = "info/sparse-checkout"
_ON_ALL_CORES = ("-c", "checkout.workers=0")
#: A new work tree inherits from one that has but a part of the files which those are.
_WHOLE = ("-c", "core.sparseCheckout=false")
_LISTED_BELOW = ("-c", "core.sparseCheckout=true", "-c", "core.sparseCheckoutCone=false")
_IN_ENVIRONMENTS = ("/pyvenv.cfg", "/conda-meta/history")  # of venv, and of conda
_MOST_BRANCHES = 8
_WRITES_OR_READS_FILES = frozenset({"bisect", "checkout", "diff", "read-tree", "worktree"})
_PATTERN = re.compile(r"([\\*?\[\]!# ])")  # what a line of a sparse checkout does not take as it is
_LEADS_ASTRAY = re.compile(
    r"GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|COMMON_DIR|NAMESPACE|PREFIX|CONFIG.*)"
)


def git(folder: Path, *arguments: str) -> str:
    """What git answers in a folder; a ``UsageError`` with its reason where it fails."""
    ended = run_git(folder, *arguments)
    if ended.returncode:
        said = [line for line in ended.stderr.splitlines() if line.strip()] or [
            f"exit status {ended.returncode}"
        ]
        verb = arguments[2 * arguments.count("-c")]
        raise UsageError(f"git {verb}: {redact_text(said[-1].strip())}", where=str(folder))
    return ended.stdout


def file_at(folder: Path, revision: str, path: str) -> bytes:
    """The content of a file as a commit has it; a ``UsageError`` where there is none."""
    commit = resolve(folder, revision)
    shown = _run(folder, "cat-file", "blob", f"{commit}:./{path}")
    if shown.returncode:
        raise UsageError(f"the commit has no {path}", where=revision)
    return shown.stdout


def run_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Git in a folder, whatever it ends with; a ``CannotRunError`` where there is none, or no end."""
    ended = _run(folder, *arguments)
    out, err = (stream.decode("utf-8", "replace") for stream in (ended.stdout, ended.stderr))
    return subprocess.CompletedProcess(ended.args, ended.returncode, out, err)


def resolve(folder: Path, revision: str) -> str:
    """The full name of a commit; a ``UsageError`` where there is none, or no repository."""
    ended = run_git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if ended.returncode:
        fix = "`git log --oneline` lists them; a shallow clone has only the newest (`git fetch --unshallow`)"
        if branches := _branches(folder):
            fix = f"the branches are {branches}; {fix}"
        raise UsageError(f"there is no commit {revision}", where=str(folder), fix=fix)
    return ended.stdout.strip()


def _branches(folder: Path) -> str:
    """The names of the branches, those committed to last first; "" where there are none."""
    words = (
        "for-each-ref",
        "--sort=-committerdate",
        "--format=%(refname:short)",
        "refs/heads",
        "refs/remotes",
    )
    names = run_git(folder, *words).stdout.split()
    return ", ".join(names[:_MOST_BRANCHES]) + (" …" if len(names) > _MOST_BRANCHES else "")


def files_of(project: Path) -> frozenset[str]:
    """The files of a work tree, from its top: those that git has, and those that it does not ignore.

    But for environments of Python in it, whether they are ignored or not.
    """
    listed = git(top_of(project), "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    names = frozenset(listed.split("\0")) - {""}
    marks = (name for name in names if name.endswith(_IN_ENVIRONMENTS))
    environments = tuple(f"{name.removesuffix('/history').rpartition('/')[0]}/" for name in marks)
    return frozenset(name for name in names if not name.startswith(environments))


def top_of(project: Path) -> Path:
    """The top of the work tree that a project lies in."""
    return Path(git(project, "rev-parse", "--show-toplevel").strip()).resolve()


def last_commit(path: Path) -> str:
    """The commit that last touched a folder, as it is now; a ``UsageError`` where it is in none."""
    repository = find_repository(path)
    if repository is None or repository.root is None:
        raise UsageError("is not in a git repository", where=str(path), fix="commit it")
    below = path.resolve().relative_to(repository.root).as_posix()
    if compare(repository, within="" if below == "." else f"{below}/").changed:
        raise UsageError("has changes that are not committed", where=str(path), fix="commit it")
    commit = git(path, "log", "-1", "--format=%H", "--", ".").strip()
    if not commit:
        raise UsageError("is not in any commit", where=str(path), fix="commit it")
    return commit


def changes_since(
    project: Path, commit: str, paths: Sequence[str], *, until: str | None = None
) -> list[FileChange]:
    """Lines that came and went in some files of a project since a commit, most first.

    Without ``until``, the work tree counts as it is, with files that git does not know.
    """
    range_ = [commit, until] if until else [commit]
    how = ("--numstat", "--no-ext-diff", "--no-textconv", "--no-renames", "--relative", "-z")
    out = git(project, "diff", *how, *range_, "--", *paths)
    found = []
    for row in filter(None, out.split("\0")):
        added, removed, path = row.split("\t", 2)
        found.append(FileChange(path=path, added=_count(added), removed=_count(removed)))
    if until is None:
        unknown = git(project, "ls-files", "--others", "--exclude-standard", "-z", "--", *paths)
        found += [FileChange(path=path, added=None, removed=0) for path in filter(None, unknown.split("\0"))]
    return sorted(found, key=lambda one: (-(one.added or 0) - (one.removed or 0), one.path))


def changed_submodules(project: Path, commit: str, *, until: str | None = None) -> tuple[str, ...]:
    """Submodules of a project that are not as a commit has them; without ``until``, in the work tree."""
    range_ = [commit, until] if until else [commit]
    how = ("--raw", "--no-renames", "--ignore-submodules=untracked", "--relative", "-z")
    rows = git(project, "diff", *how, *range_).split("\0")
    pairs = zip(rows[::2], rows[1::2], strict=False)
    return tuple(path for modes, path in pairs if SUBMODULE in modes.lstrip(":").split(" ")[:2])


@contextmanager
def worktree(project: Path, *, commit: str, empty: bool = False) -> Iterator[Path]:
    """The project's folder in a temporary work tree of a commit; a ``UsageError`` where there is none.

    With ``empty`` it has no file until ``check_out`` puts some there, which costs as much as they are many.
    """
    top = top_of(project)
    below = project.resolve().relative_to(top)
    holder = Path(tempfile.mkdtemp(prefix="reprokit-tree-"))
    tree = holder / "tree"
    try:
        with _LIST_OF_TREES:
            git(top, "worktree", "add", "--detach", "--no-checkout", "--quiet", str(tree), commit)
        if empty:
            (tree / below).mkdir(parents=True, exist_ok=True)
        else:
            git(tree, *_ON_ALL_CORES, *_WHOLE, "read-tree", "-m", "-u", "HEAD")
            put_large_files(tree)
        yield tree / below
    finally:
        shutil.rmtree(holder, ignore_errors=True)
        with _LIST_OF_TREES:
            run_git(top, "worktree", "prune")  # git forgets the trees whose folders are gone


def check_out(project: Path, paths: Sequence[str] = ()) -> tuple[str, ...]:
    """Put files of its commit into a project in an empty work tree: all that it lacks, or those below paths.

    Its index has every file at once, as in a sparse checkout, so that attributes count that lie elsewhere.
    What comes back are the files of git-lfs whose contents this clone lacks.
    """
    below = git(project, "rev-parse", "--show-prefix").strip()
    listed = Path(git(project, "rev-parse", "--path-format=absolute", "--git-path", _LISTED).strip())
    listed.parent.mkdir(parents=True, exist_ok=True)
    patterns = [_PATTERN.sub(r"\\\1", f"/{below}{path}") for path in paths] or ["/*"]
    listed.write_text("".join(f"{pattern}\n" for pattern in patterns), encoding="utf-8")
    git(project, *_ON_ALL_CORES, *_LISTED_BELOW, "read-tree", "-m", "-u", "HEAD")
    if not paths:
        listed.unlink()
    return put_large_files(project)


def put_large_files(project: Path) -> tuple[str, ...]:
    """Put the contents of git-lfs into a temporary work tree; the files of those that this clone lacks.

    Its filters are programs, and have not been started. All paths are from the project's folder.
    """
    names = git(project, "ls-files", "-z", "--", KEPT).split("\0")
    if names == [""]:
        return ()
    common = Path(git(project, "rev-parse", "--path-format=absolute", "--git-common-dir").strip())
    return put_contents(project, filter(None, names), common_dir=common)


def subject(folder: Path, commit: str) -> str:
    """The first line of a commit's message."""
    return git(folder, "log", "-1", "--format=%s", commit).strip()


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    variables = _git_variables()
    if _WRITES_OR_READS_FILES.intersection(arguments):
        variables |= _without_filters(folder, variables)
    try:
        return subprocess.run(
            ["git", *NO_PROGRAMS, *arguments],
            cwd=folder,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env=variables,
            timeout=_TIMEOUT_S,
        )
    except FileNotFoundError as error:
        raise CannotRunError("git is not installed", fix="install git") from error
    except subprocess.TimeoutExpired as error:
        what = f"git {arguments[0]} did not end within {_TIMEOUT_S:g} s"
        raise CannotRunError(what, where=str(folder)) from error


def _git_variables() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not _LEADS_ASTRAY.fullmatch(name)}
    return {**kept, **NO_PROGRAMS_ENVIRONMENT}


def _without_filters(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Variables that switch off the filters of the repository's own settings: they are programs."""
    asked = subprocess.run(
        ["git", "config", "--name-only", "-z", "--get-regexp", r"^filter\."],
        cwd=folder,
        capture_output=True,
        check=False,
        env={**variables, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        timeout=_TIMEOUT_S,
    )
    names = {os.fsdecode(key).rpartition(".")[0] for key in asked.stdout.split(b"\0") if key}
    settings = [
        (f"{name}.{kind}", "false" if kind == "required" else "")
        for name in sorted(names)
        for kind in ("clean", "smudge", "process", "required")
    ]
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
