"""Changed code and changed environments that hide: the record says so, or says that it cannot know."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reprokit.capture.source import capture_source
from reprokit.images import installed_files
from tests.unit.attacks.conftest import git

Change = Callable[[Path], Any]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with code in several places; copied, never changed."""
    root = tmp_path_factory.mktemp("source") / "project"
    for name in ("train.py", "lib/__init__.py", "lib/deep/model.py", "runs/helper.py", "reports/page.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"NAME = {name!r}\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n__pycache__/\n")
    (root / "link.py").symlink_to("train.py")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "first")
    return root


@pytest.fixture
def source(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "project", symlinks=True))


def write(name: str, text: str = "evil\n") -> Change:
    def change(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return change


def both(*changes: Change) -> Change:
    def change(root: Path) -> None:
        for one in changes:
            one(root)

    return change


def ask(*words: str) -> Change:
    return lambda root: git(root, *words)


def _nested(root: Path) -> None:
    write("inner/evil.py")(root)
    git(root / "inner", "init", "--quiet")


def _ref(root: Path) -> str:
    return git(root, "symbolic-ref", "HEAD")


def _replaced(root: Path) -> None:
    before = git(root, "rev-parse", "HEAD")
    write("train.py")(root)
    git(root, "commit", "--quiet", "--all", "--message", "second")
    after = git(root, "rev-parse", "HEAD")
    git(root, "update-ref", _ref(root), before)
    git(root, "replace", before, after)


def _remove_object(root: Path, name: str) -> None:
    oid = git(root, "rev-parse", name)
    (root / ".git/objects" / oid[:2] / oid[2:]).unlink()


SOURCES: dict[str, Change] = {
    "a changed file": write("train.py"),
    "a changed file, staged": both(write("train.py"), ask("add", "train.py")),
    "a changed file, assumed unchanged": both(
        ask("update-index", "--assume-unchanged", "train.py"), write("train.py")
    ),
    "a changed file, skipped": both(ask("update-index", "--skip-worktree", "train.py"), write("train.py")),
    "a file only in the index": both(write("new.py"), ask("add", "new.py")),
    "a file removed": lambda root: (root / "train.py").unlink(),
    "a file renamed in case": lambda root: (root / "train.py").rename(root / "Train.py"),
    "a link in place of a file": lambda root: (
        (root / "train.py").rename(root / "x.log"),
        (root / "train.py").symlink_to("x.log"),
    ),
    "a file in place of a link": both(lambda root: (root / "link.py").unlink(), write("link.py", "train.py")),
    "a link that leads elsewhere": lambda root: (
        (root / "link.py").unlink(),
        (root / "link.py").symlink_to("lib/__init__.py"),
    ),
    "a folder in place of a file": both(lambda root: (root / "train.py").unlink(), write("train.py/x")),
    "a link in place of a folder": lambda root: (
        (root / "lib").rename(root / "build"),
        (root / "lib").symlink_to("build"),
    ),
    "a file made executable": lambda root: (root / "train.py").chmod(0o755),
    "line ends": write("train.py", "NAME = 'train.py'\r\n"),
    "line ends that git is to convert": both(
        ask("config", "core.autocrlf", "true"), write("train.py", "NAME = 'train.py'\r\n")
    ),
    "another encoding that git is to convert": both(
        write(".git/info/attributes", "*.py working-tree-encoding=UTF-16\n"),
        lambda root: (root / "train.py").write_bytes("NAME = 'train.py'\n".encode("utf-16")),
    ),
    "an ident that git is to fill in": both(
        write(".git/info/attributes", "*.py ident\n"), write("train.py", "NAME = 'train.py' # $Id: x $\n")
    ),
    "file modes that git is to ignore": both(
        ask("config", "core.fileMode", "false"), lambda root: (root / "train.py").chmod(0o755)
    ),
    "links that git is to take for files": both(
        ask("config", "core.symlinks", "false"),
        lambda root: (root / "link.py").unlink(),
        write("link.py", "train.py"),
    ),
    "letters whose case git is to ignore": both(
        ask("config", "core.ignorecase", "true"), lambda root: (root / "train.py").rename(root / "TRAIN.py")
    ),
    "another work tree": both(ask("config", "core.worktree", "/"), write("train.py")),
    "a bare repository": both(ask("config", "core.bare", "true"), write("train.py")),
    "sparse files": both(
        ask("config", "core.sparseCheckout", "true"), lambda root: (root / "lib/deep/model.py").unlink()
    ),
    "a cache of what is untracked": both(
        ask("config", "core.untrackedCache", "true"), ask("status"), write("evil.py")
    ),
    "a monitor that sees nothing": both(ask("config", "core.fsmonitor", "true"), write("train.py")),
    "an index of someone's own": both(write("train.py"), lambda root: (root / ".git/index").unlink()),
    "a broken index": both(write("train.py"), write(".git/index", "x")),
    "an exclusion of one's own": both(write(".git/info/exclude", "*\n"), write("evil.py")),
    "an exclusion that is not committed": both(write(".gitignore", "*\n"), write("evil.py")),
    "an exclusion of a folder": both(write("lib/.gitignore", "*\n"), write("lib/evil.py")),
    "code beside code, left out": both(write("lib/build/evil.py")),
    "code in a folder of caches": write("__pycache__/evil.py"),
    "a compiled module": write("lib/evil.so"),
    "byte-code beside its source": write("lib/evil.pyc"),
    "a path file": write("evil.pth"),
    "a hidden file": write(".evil.py"),
    "a name with a newline": write("a\nb.py"),
    "a name that is not UTF-8": write(os.fsdecode(b"\xff.py")),
    "a repository within": _nested,
    "a link to a folder of code": lambda root: (root / "more").symlink_to("/usr/lib"),
    "tracked code in runs/": write("runs/helper.py"),
    "tracked code in reports/": write("reports/page.py"),
    "tracked code in runs/ removed": lambda root: (root / "runs/helper.py").unlink(),
    "a replaced commit": _replaced,
    "a graft": both(
        write("train.py"), lambda root: write(".git/info/grafts", git(root, "rev-parse", "HEAD"))(root)
    ),
    "an alternate of objects": both(write(".git/objects/info/alternates", "/nowhere\n"), write("train.py")),
    "HEAD that leads nowhere": write(".git/HEAD", "ref: refs/heads/nowhere\n"),
    "HEAD that is no name": write(".git/HEAD", "x\n"),
    "a ref that is no commit": lambda root: write(
        f".git/{_ref(root)}", git(root, "rev-parse", "HEAD^{tree}") + "\n"
    )(root),
    "a missing object": lambda root: _remove_object(root, "HEAD:train.py") or write("train.py")(root),
    "a missing tree": lambda root: _remove_object(root, "HEAD^{tree}"),
    "no repository": lambda root: shutil.rmtree(root / ".git"),
    "a repository that is elsewhere": lambda root: (
        (root / ".git").rename(root.parent / "moved"),
        write(".git", "gitdir: ../moved\n")(root),
        write("train.py")(root),
    ),
    "a repository's file that leads in a circle": lambda root: (
        shutil.rmtree(root / ".git"),
        write(".git", "gitdir: .git\n")(root),
    ),
    "variables that name another repository": both(write("train.py")),
}


@pytest.mark.parametrize("attack", SOURCES)
def test_a_changed_source_is_never_clean(source, attack, monkeypatch, template):
    SOURCES[attack](source)
    monkeypatch.setenv("GIT_DIR", str(template / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(template))
    monkeypatch.setenv("GIT_INDEX_FILE", str(template / ".git/index"))
    found = capture_source(source)
    assert found.get("dirty") is not False or not found.get("commit"), found


def test_an_unchanged_source_is_clean(source):
    (source / "x.log").write_text("left out by the commit")
    (source / "runs/train").mkdir(parents=True)
    (source / "runs/train/run.json").write_text("{}")
    assert capture_source(source)["dirty"] is False


# --- virtual environments
SITE = "lib/python3.11/site-packages"


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    root = tmp_path / "venv"
    files = {
        "pyvenv.cfg": "include-system-site-packages = false\n",
        f"{SITE}/tiny.py": "VERSION = 1\n",
        f"{SITE}/tiny-1.dist-info/RECORD": "tiny.py,,\n",
        f"{SITE}/deep/__init__.py": "",
    }
    for name, text in files.items():
        write(name, text)(root)
    (root / "bin").mkdir()
    (root / "bin/python").symlink_to(sys.executable)
    (root / "lib64").symlink_to("lib")
    installed_files.write_list(root)
    return root


def _swap(root: Path) -> None:
    (root / "lib").rename(root.parent / "else")
    (root / "lib").symlink_to(root.parent / "else")


ENVIRONMENTS: dict[str, Change] = {
    "a changed module": write(f"{SITE}/tiny.py"),
    "a module of the same size": write(f"{SITE}/tiny.py", "VERSION = 2\n"),
    "a module removed": lambda root: (root / SITE / "tiny.py").unlink(),
    "a module replaced by a hard link": lambda root: (
        (root / SITE / "tiny.py").unlink(),
        os.link(root / "pyvenv.cfg", root / SITE / "tiny.py"),
    ),
    "a module replaced by a link": lambda root: (
        (root / SITE / "tiny.py").rename(root.parent / "tiny.py"),
        (root / SITE / "tiny.py").symlink_to(root.parent / "tiny.py"),
    ),
    "a module replaced by a folder": lambda root: (
        (root / SITE / "tiny.py").unlink(),
        write(f"{SITE}/tiny.py/x")(root),
    ),
    "a package before a module": write(f"{SITE}/tiny/__init__.py"),
    "a compiled module before a module": write(f"{SITE}/tiny.cpython-311-x86_64-linux-gnu.so"),
    "byte-code without a source": write(f"{SITE}/tiny.pyc"),
    "byte-code": write(f"{SITE}/__pycache__/tiny.cpython-311.pyc"),
    "sitecustomize": write(f"{SITE}/sitecustomize.py"),
    "usercustomize": write(f"{SITE}/usercustomize.py"),
    "a path file": write(f"{SITE}/evil.pth", "import evil\n"),
    "a path file in the environment's root": write("evil.pth"),
    "a hidden path file": write(f"{SITE}/.evil.pth"),
    "an egg link": write(f"{SITE}/tiny.egg-link", "/tmp/evil\n"),
    "an editable finder": write(f"{SITE}/__editable___tiny_finder.py"),
    "RECORD": write(f"{SITE}/tiny-1.dist-info/RECORD", ""),
    "entry points": write(f"{SITE}/tiny-1.dist-info/entry_points.txt", "[pytest11]\nx = evil\n"),
    "another version beside": write(f"{SITE}/tiny-2.dist-info/METADATA", "Name: tiny\n"),
    "pyvenv.cfg opened to the system": write("pyvenv.cfg", "include-system-site-packages = true\n"),
    "pyvenv.cfg of another home": write("pyvenv.cfg", "home = /tmp/evil\n"),
    "pyvenv.cfg removed": lambda root: (root / "pyvenv.cfg").unlink(),
    "pyvenv.cfg beside the interpreter": write("bin/pyvenv.cfg", "home = /tmp\n"),
    "an interpreter path file": write("bin/python._pth", "/tmp\n"),
    "another interpreter": lambda root: (
        (root / "bin/python").unlink(),
        (root / "bin/python").symlink_to("/bin/true"),
    ),
    "a script for the interpreter": lambda root: (
        (root / "bin/python").unlink(),
        write("bin/python", "#!/bin/sh\n")(root),
    ),
    "packages behind a link": _swap,
    "lib64 that leads elsewhere": lambda root: (
        (root / "lib64").unlink(),
        (root / "lib64").symlink_to("/tmp"),
    ),
    "packages of another Python": write("lib/python3.12/site-packages/tiny.py"),
    "a mode": lambda root: (root / SITE / "tiny.py").chmod(0o777),
}


def _restored(root: Path, change: Change) -> None:
    """Make a change, and give every file its times back."""
    before = {path: path.lstat() for path in root.rglob("*")}
    change(root)
    for path, status in before.items():
        if path.exists() and not path.is_symlink():
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("attack", [name for name in ENVIRONMENTS if name != "a mode"])
@pytest.mark.parametrize("times", ["as they fall", "put back"])
def test_a_changed_environment_is_never_as_installed(environment, attack, times):
    change = ENVIRONMENTS[attack]
    if times == "put back":
        _restored(environment, change)
    else:
        change(environment)
    assert installed_files.check(environment, wheels=None, whole=False).foreign
    assert installed_files.check(environment, wheels=None, whole=True).foreign


LISTS = {
    "removed": None,
    "empty": "",
    "{}": "{}",
    "a list": "[]",
    "files that are a list": '{"files": [], "unchanged": ""}',
    "files that are nothing": '{"files": {}, "unchanged": ""}',
    "files that are numbers": '{"files": 3}',
    "nested": "[" * 100_000,
}


@pytest.mark.parametrize("attack", LISTS)
@pytest.mark.parametrize("whole", [False, True])
def test_a_changed_list_of_what_was_installed_is_no_excuse(environment, attack, whole):
    path, text = installed_files.list_of(environment), LISTS[attack]
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    assert installed_files.check(environment, wheels=None, whole=whole).foreign


def test_an_untouched_environment_is_as_installed(environment):
    for whole in (False, True):
        assert not installed_files.check(environment, wheels=None, whole=whole).foreign
