"""git's history, asked in real repositories."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reprokit.capture import git_history
from reprokit.capture.source import capture_source
from reprokit.errors import UsageError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "study"
    (root / "golden").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "user.email", "a@example.org")
    git(root, "config", "user.name", "A")
    (root / "train.py").write_text("a = 1\nb = 2\n")
    (root / "golden" / "metrics.jsonl").write_text("{}\n")
    commit(root, "first")
    return root


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root: Path, message: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


def test_the_last_commit_is_the_one_that_touched_the_folder(repository):
    first = git(repository, "rev-parse", "HEAD")
    (repository / "train.py").write_text("a = 2\nb = 2\n")
    commit(repository, "second")
    assert git_history.last_commit(repository / "golden") == first


def test_a_folder_with_uncommitted_changes_has_no_commit(repository):
    (repository / "golden" / "metrics.jsonl").write_text("{} \n")
    with pytest.raises(UsageError, match="has changes that are not committed"):
        git_history.last_commit(repository / "golden")


def test_a_folder_that_was_never_committed_has_no_commit(repository):
    (repository / "new").mkdir()
    (repository / "new" / "file").write_text("x")
    with pytest.raises(UsageError, match="has changes that are not committed"):
        git_history.last_commit(repository / "new")


def test_changes_count_lines_of_the_work_tree_and_name_unknown_files(repository):
    first = git(repository, "rev-parse", "HEAD")
    (repository / "train.py").write_text("a = 1\nb = 3\nc = 4\n")
    (repository / "more.py").write_text("x\n")
    found = git_history.changes_since(repository, first, ["train.py", "more.py", "not-there.py"])
    assert [(one.path, one.added, one.removed) for one in found] == [("train.py", 2, 1), ("more.py", None, 0)]


def test_changes_between_two_commits_leave_the_work_tree_out(repository):
    first = git(repository, "rev-parse", "HEAD")
    (repository / "train.py").write_text("a = 1\n")
    second = commit(repository, "second")
    (repository / "train.py").write_text("")
    found = git_history.changes_since(repository, first, ["train.py"], until=second)
    assert [(one.path, one.added, one.removed) for one in found] == [("train.py", 0, 1)]


def test_a_worktree_holds_the_commit_and_is_gone_afterwards(repository):
    first = git(repository, "rev-parse", "HEAD")
    (repository / "train.py").write_text("a = 9\n")
    with git_history.worktree(repository, commit=first) as tree:
        assert (tree / "train.py").read_text() == "a = 1\nb = 2\n"
    assert not tree.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert (repository / "train.py").read_text() == "a = 9\n"


def test_worktrees_can_be_made_and_removed_at_one_time(repository):
    def made(_number):
        with git_history.worktree(repository, commit="HEAD") as tree:
            return (tree / "train.py").read_text()

    with ThreadPoolExecutor(max_workers=4) as threads:
        assert set(threads.map(made, range(24))) == {"a = 1\nb = 2\n"}


def test_a_worktree_is_gone_after_an_error_too(repository):
    with pytest.raises(KeyboardInterrupt), git_history.worktree(repository, commit="HEAD") as tree:
        raise KeyboardInterrupt
    assert not tree.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_project_below_the_top_of_the_tree_is_found_in_the_worktree(repository):
    (repository / "sub").mkdir()
    (repository / "sub" / "recipe").write_text("r")
    commit(repository, "second")
    with git_history.worktree(repository / "sub", commit="HEAD") as tree:
        assert (tree / "recipe").read_text() == "r"
    assert git_history.file_at(repository / "sub", "HEAD", "recipe") == b"r"


@pytest.mark.parametrize("below", [".", "sub"])
def test_an_empty_worktree_gets_the_files_that_are_asked_for_and_then_all(repository, below):
    for name in ("a b/#x", "other/y", "[z]", "train.py"):
        file = repository / below / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    (repository / "train.py").write_text("at the top")
    commit(repository, "second")
    with git_history.worktree(repository / below, commit="HEAD", empty=True) as tree:
        there = lambda: {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()}  # noqa: E731
        assert there() - {".git"} == set()
        git_history.check_out(tree, ["a b", "[z]", "not there"])
        assert there() - {".git"} == {"a b/#x", "[z]"}
        assert capture_source(tree, only=("a b", "[z]"))["dirty"] is False
        assert capture_source(tree, only=("a b", "[z]", "train.py"))["dirty"] is True
        git_history.check_out(tree)
        assert {"a b/#x", "[z]", "other/y", "train.py"} <= there()
        assert git(tree, "status", "--porcelain") == ""
        assert capture_source(tree)["dirty"] is False
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_file_that_an_attribute_elsewhere_is_about_is_as_in_a_whole_worktree(repository):
    (repository / ".gitattributes").write_text("*.txt eol=crlf\n")
    (repository / "lines.txt").write_text("one\ntwo\n")
    commit(repository, "second")
    with git_history.worktree(repository, commit="HEAD", empty=True) as tree:
        git_history.check_out(tree, ["lines.txt"])
        found = (tree / "lines.txt").read_bytes()
    with git_history.worktree(repository, commit="HEAD") as tree:
        assert found == (tree / "lines.txt").read_bytes()


def test_the_files_of_a_work_tree_are_those_that_git_has_or_does_not_ignore(repository):
    (repository / ".gitignore").write_text("data/\n")
    kept = (
        "data/rows",
        "sub/new",
        "train.py",
        "sub/venv/pyvenv.cfg",
        "sub/venv/x.py",
        "env/conda-meta/history",
    )
    for name in (*kept, "env/lib/y.py"):
        (repository / name).parent.mkdir(exist_ok=True, parents=True)
        (repository / name).write_text("x")
    assert git_history.files_of(repository / "sub") == {
        ".gitignore",
        "golden/metrics.jsonl",
        "sub/new",
        "train.py",
    }


def test_no_hook_of_the_repository_is_started(repository):
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {repository}/started\n")
    hook.chmod(0o755)
    with git_history.worktree(repository, commit="HEAD"):
        pass
    assert not (repository / "started").exists()


def test_what_a_hook_says_of_another_repository_is_not_passed_on(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert len(git_history.resolve(repository, "HEAD")) == 40


@pytest.mark.parametrize("revision", ["nothing", "--all", "HEAD:train.py"])
def test_what_is_no_commit_is_refused(repository, revision):
    with pytest.raises(UsageError, match="no commit"):
        git_history.resolve(repository, revision)


def test_a_file_that_a_commit_lacks_is_refused(repository):
    with pytest.raises(UsageError, match=r"has no other\.py"):
        git_history.file_at(repository, "HEAD", "other.py")


def test_a_branch_that_is_not_there_is_answered_with_those_that_are(repository):
    git(repository, "branch", "-M", "master")
    git(repository, "branch", "other")
    with pytest.raises(UsageError, match=r"there is no commit main") as error:
        git_history.resolve(repository, "main")
    told = error.value.fix.partition(";")[0].removeprefix("the branches are ")
    assert set(told.split(", ")) == {"master", "other"}
