"""What git says of a source tree, in every state that a tree can be in."""

import json
import os
import shutil
import subprocess

import pytest

from reprokit.capture import source as source_module
from reprokit.capture.source import capture_source

PLANTED = "hunter2"


def test_a_clean_tree_names_its_commit_and_branch(repository):
    commit = repository.commit(a="1", sub__b="2")
    facts = capture_source(repository.root)
    assert (facts["commit"], facts["branch"]) == (commit, "main")
    assert (facts["dirty"], facts["changed"], facts["diff_digest"]) == (False, 0, None)
    assert (facts["folder"], facts["shallow"]) == (".", False)
    assert facts["missing"] == {"remote": "the repository has no remote"}


def test_a_folder_below_the_root_is_the_same_tree(repository):
    commit = repository.commit(sub__b="2")
    facts = capture_source(repository.root / "sub")
    assert (facts["commit"], facts["folder"]) == (commit, "sub")


def test_a_detached_head_has_no_branch(repository):
    commit = repository.commit(a="1")
    repository.git("checkout", "--quiet", "--detach")
    assert capture_source(repository.root)["branch"] is None
    assert capture_source(repository.root)["commit"] == commit


def test_of_a_part_of_a_tree_only_its_own_files_need_be_as_committed(repository):
    repository.commit(a="1", sub__b="2", sub__c="3", subs__d="4")
    for name in ("a", "subs/d"):
        (repository.root / name).unlink()
    assert capture_source(repository.root, only=("sub",))["changed"] == 0
    repository.write("sub/b", "9")
    (repository.root / "sub" / "c").unlink()
    repository.write("sub/e.py", "added")
    facts = capture_source(repository.root / "sub", only=("b", "c"))
    assert facts["changed_files"] == ["sub/b", "sub/c", "sub/e.py"]


def test_a_changed_file_is_dirty_and_its_content_decides_the_digest(repository):
    repository.commit(a="1")
    repository.write("a", "2")
    first = capture_source(repository.root)
    repository.write("a", "3")
    second = capture_source(repository.root)
    repository.write("a", "2")
    assert (first["dirty"], first["changed"]) == (True, 1)
    assert first["diff_digest"].startswith("sha256:")
    assert first["diff_digest"] != second["diff_digest"]
    assert capture_source(repository.root)["diff_digest"] == first["diff_digest"]


def test_staging_a_change_does_not_change_the_digest(repository):
    repository.commit(a="1")
    repository.write("a", "2")
    before = capture_source(repository.root)["diff_digest"]
    repository.git("add", "a")
    assert capture_source(repository.root)["diff_digest"] == before


@pytest.mark.parametrize("name", ["new", "a folder/ünïcode name", 'quote"d', "new\nline"])
def test_an_untracked_file_counts_with_its_content(repository, name):
    repository.commit(a="1")
    repository.write(name, "x")
    first = capture_source(repository.root)
    repository.write(name, "y")
    assert (first["dirty"], first["changed"]) == (True, 1)
    assert capture_source(repository.root)["diff_digest"] != first["diff_digest"]


def test_an_ignored_file_does_not_count(repository):
    repository.commit(**{".gitignore": "*.log\n"})
    repository.write("x.log", "x")
    assert capture_source(repository.root)["dirty"] is False


def test_results_are_no_source(repository):
    repository.commit(project__a="1")
    repository.write("project/runs/x/run.json", "{}")
    repository.write("project/reports/r", "{}")
    assert capture_source(repository.root / "project")["dirty"] is False
    assert capture_source(repository.root)["changed"] == 2


def test_a_deleted_file_a_link_and_a_mode_each_count(repository):
    repository.commit(a="1", b="2", c="3")
    seen = set()
    (repository.root / "a").unlink()
    seen.add(capture_source(repository.root)["diff_digest"])
    (repository.root / "a").symlink_to("b")
    seen.add(capture_source(repository.root)["diff_digest"])
    (repository.root / "c").chmod(0o755)
    seen.add(capture_source(repository.root)["diff_digest"])
    assert None not in seen
    assert len(seen) == 3


@pytest.mark.parametrize("target", ["../data/", "./b", "a//b", "b/./", "https://example.org/x"])
def test_a_link_is_as_committed_however_its_target_is_written(repository, target):
    repository.commit(b="1")
    link = repository.root / "link"
    link.symlink_to(target)
    repository.git("add", "--all")
    repository.git("commit", "--quiet", "--message", "a link")
    assert capture_source(repository.root)["dirty"] is False
    link.unlink()
    link.symlink_to(f"{target}/")
    assert capture_source(repository.root)["changed_files"] == ["link"]


def test_a_link_is_not_followed(repository, tmp_path):
    repository.commit(a="1")
    (tmp_path / "outside").write_text(PLANTED)
    (repository.root / "link").symlink_to(tmp_path / "outside")
    before = capture_source(repository.root)["diff_digest"]
    (tmp_path / "outside").write_text("other")
    assert capture_source(repository.root)["diff_digest"] == before


def test_peoples_git_settings_do_not_change_the_digest(repository):
    repository.commit(a="1")
    repository.write("a", "2")
    before = capture_source(repository.root)["diff_digest"]
    for setting in (("diff.noprefix", "true"), ("status.relativePaths", "true"), ("color.ui", "always")):
        repository.git("config", *setting)
    assert capture_source(repository.root)["diff_digest"] == before


def test_a_submodule_at_another_commit_counts(repository, tmp_path):
    library = type(repository)(tmp_path / "library")
    library.commit(a="1")
    repository.commit(a="1")
    repository.git("submodule", "--quiet", "add", str(library.root), "lib")
    repository.git("commit", "--quiet", "--message", "sub")
    assert capture_source(repository.root)["dirty"] is False
    digests = set()
    for text in ("2", "3"):
        library.commit(a=text)
        subprocess.run(["git", "pull", "--quiet"], cwd=repository.root / "lib", check=True)
        digests.add(capture_source(repository.root)["diff_digest"])
    assert len(digests) == 2


@pytest.mark.parametrize(
    "address",
    [
        f"https://alice:{PLANTED}@example.org/lab/code.git",
        f"https://example.org/lab/code.git?access_token={PLANTED}",
        f"ssh://git:{PLANTED}@example.org/lab/code.git",
        f"{PLANTED}@example.org:lab/code.git",
        f"ext::sh -c {PLANTED}",
    ],
)
def test_no_credential_of_a_remote_gets_into_the_record(repository, address):
    repository.commit(a="1")
    repository.git("remote", "add", "origin", address)
    facts = capture_source(repository.root)
    assert PLANTED not in json.dumps(facts)
    assert facts["remote"]


def test_the_remote_called_origin_is_preferred(repository):
    repository.commit(a="1")
    repository.git("remote", "add", "backup", "https://example.org/backup.git")
    assert capture_source(repository.root)["remote"] == "https://example.org/backup.git"
    repository.git("remote", "add", "origin", "https://example.org/code.git")
    assert capture_source(repository.root)["remote"] == "https://example.org/code.git"


def test_a_repository_without_a_commit_says_so(repository):
    repository.write("a", "1")
    facts = capture_source(repository.root)
    assert facts["commit"] is None
    assert facts["missing"]["commit"] == "the repository has no commit yet"
    assert facts["dirty"] is True


def test_a_shallow_clone_says_so(repository, tmp_path):
    repository.commit(a="1")
    commit = repository.commit(a="2")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth=1", repository.root.as_uri(), str(clone)], check=True)
    assert capture_source(clone)["shallow"] is True
    assert capture_source(clone)["commit"] == commit


def test_a_work_tree_of_its_own_is_read(repository, tmp_path):
    commit = repository.commit(a="1")
    repository.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "other")
    (tmp_path / "tree" / "a").write_text("2")
    facts = capture_source(tmp_path / "tree")
    assert (facts["commit"], facts["branch"], facts["changed"]) == (commit, "other", 1)
    assert capture_source(repository.root)["dirty"] is False


def test_a_hook_of_another_repository_does_not_mislead(repository, tmp_path, monkeypatch):
    other = type(repository)(tmp_path / "other")
    other.commit(b="1")
    commit = repository.commit(a="1")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.root / ".git" / "index"))
    facts = capture_source(repository.root)
    assert (facts["commit"], facts["dirty"]) == (commit, False)


def test_a_folder_outside_every_repository_says_so(tmp_path):
    assert capture_source(tmp_path) == {"missing": {"commit": "not in a git repository"}}
    assert capture_source(tmp_path / "nowhere") == {"missing": {"commit": "not in a git repository"}}


def test_a_bare_repository_has_no_source(tmp_path):
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "bare")], check=True)
    assert capture_source(tmp_path / "bare") == {"missing": {"commit": "a repository without a work tree"}}


def test_a_repository_that_git_refuses_to_read_says_why(repository):
    repository.commit(a="1")
    (repository.root / ".git" / "index").write_bytes(b"broken")
    reason = capture_source(repository.root)["missing"]["commit"]
    assert reason.startswith("git failed: ")
    assert "index" in reason


def test_without_git_the_record_says_so(repository, monkeypatch, tmp_path):
    repository.commit(a="1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert capture_source(repository.root) == {"missing": {"commit": "git is not installed"}}


def test_gigabytes_of_untracked_data_are_not_read(repository, monkeypatch):
    repository.commit(a="1")
    repository.write("data", "x" * 100)
    monkeypatch.setattr(source_module, "MOST_BYTES", 10)
    facts = capture_source(repository.root)
    assert (facts["dirty"], facts["diff_digest"]) == (True, None)
    assert "diff_digest" in facts["missing"]


def test_a_file_that_cannot_be_read_leaves_no_digest_but_a_reason(repository, monkeypatch):
    repository.commit(a="1")
    repository.write("locked", "x")

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(source_module, "_sha256_of", refuse)
    facts = capture_source(repository.root)
    assert facts["diff_digest"] is None
    assert facts["missing"]["diff_digest"] == "cannot read locked: Permission denied"


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
def test_a_file_system_monitor_named_by_the_repository_is_not_started(repository, tmp_path):
    repository.commit(a="1")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path / 'sprung'}\n")
    trap.chmod(0o755)
    repository.git("config", "core.fsmonitor", str(trap))
    capture_source(repository.root)
    assert not (tmp_path / "sprung").exists()
    assert os.access(trap, os.X_OK)


def test_a_staged_change_is_dirty_but_recorded_by_the_index(repository):
    repository.commit(a="1")
    repository.write("a", "2")
    assert capture_source(repository.root)["unrecorded"] is True
    repository.git("add", "a")
    staged = capture_source(repository.root)
    assert (staged["dirty"], staged["unrecorded"]) == (True, False)


def test_an_untracked_file_is_unrecorded(repository):
    repository.commit(a="1")
    assert capture_source(repository.root)["unrecorded"] is False
    repository.write("new", "x")
    assert capture_source(repository.root)["unrecorded"] is True
