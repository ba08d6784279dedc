"""A repository's commit and its files, read with nothing of the repository's own settings in between.

git is asked only for objects, in a fixed environment, and every commit and tree is checked against the digest
that is its name. No program that ``.git/config`` or ``.gitattributes`` names is started, nothing is fetched,
and what takes long (a configuration made to) ends as an error.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reprokit.errors import CannotRunError
from reprokit.redaction import redact_text
from reprokit.regular_file import read_regular

TIMEOUT_S = 10.0
_MAX_CONFIG_BYTES = 4 << 20
#: For every git that looks at a work tree or its history: no program of the repository's choice.
NO_PROGRAMS = tuple(
    word
    for setting in (
        "core.fsmonitor=false",
        f"core.hooksPath={os.devnull}",
        f"core.attributesFile={os.devnull}",
        "core.pager=cat",
        "log.showSignature=false",
        "protocol.allow=never",
        "submodule.recurse=false",
    )
    for word in ("-c", setting)
)
#: The same as variables; replaced objects and missing ones that would be fetched are not looked at.
NO_PROGRAMS_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_ENVIRONMENT = {
    **NO_PROGRAMS_ENVIRONMENT,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
}
FOLDER, LINK, SUBMODULE, EXECUTABLE = "40000", "120000", "160000", "100755"


class GitError(CannotRunError):
    """git is not there or did not answer, or what it holds is not what its name says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Where a repository is.

    Attributes:
        root: The folder that holds ``.git``, whatever ``core.worktree`` says; None when bare.
        git_dir: Its own folder.
        common_dir: The folder that it shares with other work trees.
    """

    root: Path | None
    git_dir: Path
    common_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One file of a commit: mode in octal digits, and the name of its object."""

    mode: str
    oid: str


def find_repository(folder: Path) -> Repository | None:
    """The repository that a folder lies in; None where there is none."""
    try:
        here = folder.resolve(strict=True)
    except OSError:
        return None
    for place in (here, *here.parents):
        git = place / ".git"
        if git.is_dir() and (git / "HEAD").is_file():
            return Repository(root=place, git_dir=git, common_dir=_common(git))
        if git.is_file() and (target := _linked(git)) is not None:
            return Repository(root=place, git_dir=target, common_dir=_common(target))
        if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
            return Repository(root=None, git_dir=place, common_dir=place)
    return None


def ask(repository: Repository, *arguments: str, sent: bytes = b"", accepted: Iterable[int] = (0,)) -> bytes:
    """What git answers about its objects, settings aside; a ``GitError`` where it fails or is not there."""
    for name in ("config", "config.worktree"):
        file = (repository.common_dir if name == "config" else repository.git_dir) / name
        if file.exists() and (not file.is_file() or file.stat().st_size > _MAX_CONFIG_BYTES):
            raise GitError(f"git failed: {name} is not a file of at most {_MAX_CONFIG_BYTES >> 20} MiB")
    try:
        ended = subprocess.run(
            ["git", *NO_PROGRAMS, f"--git-dir={repository.git_dir}", *arguments],
            cwd=repository.root or repository.git_dir,
            input=sent,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
            env={"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT},
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        raise GitError("git is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git failed: no answer to `git {arguments[0]}` within {TIMEOUT_S:g} s") from error
    if ended.returncode not in accepted:
        lines = [line.strip() for line in ended.stderr.decode("utf-8", "replace").splitlines()]
        said = next((line for line in lines if line.startswith(("fatal:", "error:"))), "".join(lines[:1]))
        raise GitError(f"git failed: {redact_text(said) or f'exit status {ended.returncode}'}")
    return ended.stdout


def head(repository: Repository) -> tuple[str, dict[str, TreeEntry]]:
    """The commit that HEAD names, and its files: path from the root → entry. ("", {}) before the first.

    Raises:
        GitError: There is no git, or an object is missing, damaged or not what its name says.
    """
    answer = ask(repository, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", accepted=(0, 1))
    said = answer.decode().strip()
    if not said:
        return "", {}
    commit = objects(repository, [said])[said]
    tree = commit.split(b"\n", 1)[0].removeprefix(b"tree ").decode("ascii", "replace")
    listed = ask(repository, "ls-tree", "-r", "-t", "-z", "--full-tree", tree)
    folders = {
        row.split(b" ", 2)[2][: len(said)].decode() for row in listed.split(b"\0") if b" tree " in row[:16]
    }
    trees = objects(repository, sorted({tree, *folders}))
    return said, dict(_walk(trees, tree, size=len(said) // 2))


def objects(repository: Repository, oids: Iterable[str]) -> dict[str, bytes]:
    """The content of objects; a ``GitError`` where one is missing, or is not what its name says."""
    names = list(oids)
    if not names:
        return {}
    answer = ask(repository, "cat-file", "--batch", sent="".join(f"{name}\n" for name in names).encode())
    found, at = {}, 0
    for name in names:
        end = answer.find(b"\n", at)
        if end < 0:
            raise GitError(f"git failed: its answer ends before the object {name}")
        header = answer[at:end].decode("ascii", "replace").split(" ")
        if len(header) != 3 or not header[2].isdecimal():
            raise GitError(f"git failed: the object {name} is missing")
        content = answer[end + 1 : end + 1 + int(header[2])]
        at = end + 2 + int(header[2])
        if digest_of(content, kind=header[1], like=name) != name:
            raise GitError(f"git failed: the object {name} is damaged")
        found[name] = content
    return found


def digest_of(content: bytes, *, kind: str, like: str) -> str:
    """What git calls an object of this content, in the digest that another name is of."""
    sha = new_digest(kind=kind, size=len(content), like=like)
    sha.update(content)
    return sha.hexdigest()


def new_digest(*, kind: str, size: int, like: str) -> hashlib._Hash:
    """The digest of an object that is about to be read."""
    sha = hashlib.new("sha256" if len(like) == 64 else "sha1", usedforsecurity=False)
    sha.update(f"{kind} {size}\0".encode())
    return sha


def _walk(trees: Mapping[str, bytes], root: str, *, size: int) -> Iterator[tuple[str, TreeEntry]]:
    """Every file below a tree (https://git-scm.com/book/en/v2/Git-Internals-Git-Objects)."""
    left = [("", root)]
    while left:
        folder, oid = left.pop()
        if oid not in trees:
            raise GitError(f"git failed: the object {oid} is missing")
        content, at = trees[oid], 0
        while at < len(content):
            end = content.find(b"\0", at)
            if end < 0:
                raise GitError(f"git failed: the object {oid} is not a list of files")
            mode, _, name = content[at:end].partition(b" ")
            child = content[end + 1 : end + 1 + size].hex()
            at = end + 1 + size
            path = folder + os.fsdecode(name)
            if mode == FOLDER.encode():
                left.append((f"{path}/", child))
            else:
                yield path, TreeEntry(mode=mode.decode("ascii", "replace"), oid=child)


def _linked(file: Path) -> Path | None:
    """Where a ``.git`` file leads, in a work tree of its own or a submodule."""
    text = read_regular(file, most_bytes=4096).decode("utf-8", "surrogateescape")
    target = (file.parent / text.removeprefix("gitdir:").strip()).resolve()
    return target if text.startswith("gitdir:") and (target / "HEAD").is_file() else None


def _common(git_dir: Path) -> Path:
    try:
        return (git_dir / os.fsdecode(read_regular(git_dir / "commondir")).strip()).resolve()
    except OSError:
        return git_dir
