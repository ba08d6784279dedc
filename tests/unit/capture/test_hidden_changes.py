"""Every way to hide a change from git: the content decides, and no program of the repository is run."""

import hashlib
import os
import subprocess
import time

import pytest

from reprokit.capture import git_history, git_objects
from reprokit.capture.source import capture_source
from reprokit.errors import UsageError


def hide_by_assume_unchanged(repository):
    repository.git("update-index", "--assume-unchanged", "train.py")
    repository.write("train.py", "evil")


def hide_by_skip_worktree(repository):
    repository.git("update-index", "--skip-worktree", "train.py")
    repository.write("train.py", "evil")


def hide_by_clean_filter(repository):
    repository.write(".git/info/attributes", "*.py filter=same\n")
    repository.git("config", "filter.same.clean", "printf good")
    repository.write("train.py", "evil")


def hide_by_other_work_tree(repository):
    other = repository.root.parent / "other"
    other.mkdir()
    subprocess.run(["git", "checkout-index", "--all", f"--prefix={other}/"], cwd=repository.root, check=True)
    repository.git("config", "core.worktree", str(other))
    repository.write("train.py", "evil")


def hide_by_restored_times(repository):
    repository.git("config", "core.checkStat", "minimal")
    repository.git("config", "core.trustctime", "false")
    path = repository.root / "train.py"
    long_ago = (1_000_000_000, 1_000_000_000)
    os.utime(path, long_ago)
    repository.git("update-index", "--refresh", "-q")
    path.write_text("evil")
    os.utime(path, long_ago)


def hide_by_replaced_object(repository):
    before = repository.git("rev-parse", "HEAD")
    repository.write("train.py", "evil")
    repository.git("commit", "--quiet", "--all", "--message", "y")
    after = repository.git("rev-parse", "HEAD")
    repository.git("update-ref", "refs/heads/main", before)
    repository.git("replace", before, after)


def hide_by_damaged_tree(repository):
    tree = repository.git("rev-parse", "HEAD^{tree}")
    repository.write("train.py", "evil")
    repository.git("add", "train.py")
    other = repository.git("write-tree")
    place = repository.root / ".git" / "objects"
    there, here = (place / name[:2] / name[2:] for name in (other, tree))
    here.chmod(0o644)
    here.write_bytes(there.read_bytes())


def hide_by_local_excludes(repository):
    repository.write(".git/info/exclude", "*.py\n")
    repository.write("helper.py", "evil")


def hide_by_configured_excludes(repository):
    repository.git("config", "core.excludesFile", str(repository.write("../excludes", "*\n")))
    repository.write("helper.py", "evil")


def hide_by_gitignore_of_no_commit(repository):
    repository.write("sub/.gitignore", "*\n")
    repository.write("sub/helper.py", "evil")


def hide_by_gitignore_of_the_commit(repository):
    repository.commit(**{".gitignore": "local*.py\n"})
    repository.write("local_helper.py", "evil")


def hide_in_a_folder_left_out(repository):
    repository.commit(**{".gitignore": "helpers/\n"})
    repository.write("helpers/evil.py", "evil")


def hide_in_a_folder_of_a_tool(repository):
    repository.write(".vscode/helper.py", "evil")


def hide_by_file_mode(repository):
    repository.git("config", "core.fileMode", "false")
    (repository.root / "train.py").chmod(0o755)


def hide_by_a_link_of_the_same_content(repository):
    repository.git("config", "core.symlinks", "false")
    (repository.root / "train.py").unlink()
    (repository.root / "train.py").symlink_to("good")


def hide_by_case(repository):
    repository.git("config", "core.ignoreCase", "true")
    repository.write("TRAIN.py", "evil")


def hide_by_commit_left_behind(repository):
    (repository.root / "train.py").unlink()
    repository.git("update-index", "--skip-worktree", "train.py")


TRICKS = {name.removeprefix("hide_"): trick for name, trick in globals().items() if name.startswith("hide_")}


@pytest.fixture
def trained(repository):
    repository.commit(**{"train.py": "good"})
    return repository


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_hidden_change_is_seen(trained, trick):
    trick(trained)
    facts = capture_source(trained.root)
    refused = facts.get("missing", {}).get("commit", "").startswith("git failed: ")
    assert refused or (facts["dirty"] is True and facts["changed"] >= 1), facts


@pytest.mark.parametrize("inside", ["untracked", "changed", "assumed", "excluded"])
def test_a_change_in_a_submodule_is_seen_whatever_is_to_be_ignored(trained, tmp_path, inside):
    library = type(trained)(tmp_path / "library")
    library.commit(**{"lib.py": "good"})
    trained.git("submodule", "--quiet", "add", str(library.root), "lib")
    trained.commit()
    trained.git("config", "submodule.lib.ignore", "all")
    trained.git("config", "diff.ignoreSubmodules", "all")
    assert capture_source(trained.root)["dirty"] is False
    work = trained.root / "lib"
    if inside == "assumed":
        subprocess.run(["git", "update-index", "--assume-unchanged", "lib.py"], cwd=work, check=True)
    if inside == "excluded":
        exclude = trained.root / ".git/modules/lib/info/exclude"
        exclude.parent.mkdir(exist_ok=True)
        exclude.write_text("*\n")
    (work / ("lib.py" if inside in {"changed", "assumed"} else "other.py")).write_text("evil")
    facts = capture_source(trained.root)
    assert (facts["dirty"], facts["changed_files"]) == (True, ["lib"])


def test_a_file_that_is_kept_elsewhere_is_held_against_its_digest(trained):
    content = b"weights"
    digest = hashlib.sha256(content).hexdigest()
    right = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 7\n"
    trained.commit(**{"model.bin": right})
    (trained.root / "model.bin").write_bytes(content)
    assert capture_source(trained.root)["dirty"] is False
    (trained.root / "model.bin").write_bytes(b"Weights")
    assert capture_source(trained.root)["dirty"] is True


def test_what_the_commit_leaves_out_and_an_environment_are_no_change(trained):
    trained.commit(**{".gitignore": "*.log\n/build/\n"})
    trained.write("a.log", "x")
    trained.write("build/lib/pkg/module.py", "x")
    trained.write("venv/pyvenv.cfg", "home = /usr")
    trained.write("venv/lib/module.py", "x")
    trained.write("__pycache__/train.cpython-311.pyc", "x")
    assert capture_source(trained.root)["dirty"] is False


def test_times_alone_are_no_change(trained):
    os.utime(trained.root / "train.py", (1, 1))
    assert capture_source(trained.root)["dirty"] is False


@pytest.fixture
def trap(tmp_path):
    """A program that leaves a trace where it is run, and answers as a filter would."""
    path = tmp_path / "trap"
    path.write_text(f"#!/bin/sh\ntouch {tmp_path / 'sprung'}\ncat\n")
    path.chmod(0o755)
    return path


def set_all_traps(repository, trap):
    names = (
        "core.fsmonitor core.pager core.sshCommand core.editor core.askPass core.alternateRefsCommand "
        "filter.trap.clean filter.trap.smudge filter.trap.process diff.trap.textconv diff.trap.command "
        "diff.external merge.trap.driver gpg.program sequence.editor alias.status alias.cat-file pager.log "
        "uploadpack.packObjectsHook credential.helper"
    )
    for name in names.split():
        repository.git("config", name, f"!{trap}" if name.startswith("alias.") else str(trap))
    for name in ("log.showSignature", "filter.trap.required"):
        repository.git("config", name, "true")
    for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        place = repository.root / ".git" / "hooks" / hook
        place.parent.mkdir(exist_ok=True)
        place.write_text(trap.read_text())
        place.chmod(0o755)


@pytest.mark.parametrize(
    "look",
    [
        lambda root, _commit: capture_source(root),
        lambda root, commit: git_history.changes_since(root, commit, ["train.py"]),
        lambda root, commit: git_history.file_at(root, commit, "train.py"),
        git_history.subject,
        lambda root, _commit: git_history.last_commit(root / "golden"),
        lambda root, commit: git_history.worktree(root, commit=commit).__enter__(),
    ],
    ids=["capture", "changes", "file", "subject", "last_commit", "worktree"],
)
def test_no_program_that_the_repository_names_is_run(trained, tmp_path, trap, look):
    files = {".gitattributes": "* filter=trap diff=trap merge=trap\n", "golden__metrics": "1"}
    commit = trained.commit(**files)
    set_all_traps(trained, trap)
    trained.write("train.py", "good, touched")
    os.utime(trained.root / "golden" / "metrics", (1, 1))
    look(trained.root, commit)
    assert not (tmp_path / "sprung").exists()


def test_a_change_to_a_golden_is_not_hidden_from_its_commit(trained):
    trained.commit(golden__metrics="1")
    trained.git("update-index", "--assume-unchanged", "golden/metrics")
    trained.write("golden/metrics", "2")
    with pytest.raises(UsageError, match="has changes that are not committed"):
        git_history.last_commit(trained.root / "golden")


def includes_itself(repository):
    repository.git("config", "include.path", "config")


def includes_a_pipe(repository):
    os.mkfifo(repository.root / ".git" / "pipe")
    repository.git("config", "include.path", "pipe")


def is_huge(repository):
    with (repository.root / ".git" / "config").open("a") as stream:
        stream.writelines(f"[a{number}]\n\tb = c\n" for number in range(400_000))


def is_sparse(repository):
    os.truncate(repository.root / ".git" / "config", 1 << 40)


def is_a_pipe(repository):
    (repository.root / ".git" / "config").unlink()
    os.mkfifo(repository.root / ".git" / "config")


def is_no_config(repository):
    repository.write(".git/config", "[core\n")


@pytest.mark.parametrize(
    "config", [includes_itself, includes_a_pipe, is_huge, is_sparse, is_a_pipe, is_no_config]
)
def test_a_configuration_made_to_break_git_ends_as_an_error_within_seconds(trained, monkeypatch, config):
    monkeypatch.setattr(git_objects, "TIMEOUT_S", 2.0)
    config(trained)
    began = time.monotonic()
    reason = capture_source(trained.root)["missing"]["commit"]
    assert reason.startswith("git failed: ")
    assert time.monotonic() - began < 15


def hide_beside_a_pyvenv_cfg_in_the_root(repository):
    repository.write("pyvenv.cfg", "home = /usr/bin\n")
    repository.write("numpy.py", "evil")


def hide_beside_a_pyvenv_cfg_in_a_package(repository):
    repository.commit(**{"pkg/__init__.py": ""})
    repository.write("pkg/pyvenv.cfg", "home = /usr/bin\n")
    repository.write("pkg/evil.py", "evil")


def hide_in_a_folder_of_byte_code(repository):
    repository.write("__pycache__/evil.py", "evil")


def hide_behind_an_ignored_link(repository):
    repository.commit(**{".gitignore": "gen\n"})
    elsewhere = repository.root.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.py").write_text("evil")
    (repository.root / "gen").symlink_to(elsewhere)


@pytest.mark.parametrize(
    "hide",
    [
        hide_beside_a_pyvenv_cfg_in_the_root,
        hide_beside_a_pyvenv_cfg_in_a_package,
        hide_in_a_folder_of_byte_code,
        hide_behind_an_ignored_link,
    ],
)
def test_code_that_an_import_would_find_is_a_change(repository, hide):
    repository.commit(**{"train.py": "good"})
    hide(repository)
    assert capture_source(repository.root)["dirty"] is True


def test_a_virtual_environment_beside_the_code_is_none(repository):
    repository.commit(**{"train.py": "good", ".gitignore": ".venv/\n"})
    for name in ("pyvenv.cfg", "bin/python", "lib/python3.11/site-packages/numpy.py"):
        repository.write(f".venv/{name}", "x")
    repository.write("__pycache__/train.cpython-311.pyc", "x")
    assert capture_source(repository.root)["dirty"] is False
