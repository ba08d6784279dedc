"""What git answers is compared with the names that were asked for; half an answer is an error of git's."""

from __future__ import annotations

import pytest

from reprokit.capture import git_objects

EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
ONE = "56a6051ca2b02b04ef92d5150c9ef600403cb1de"  # the file "1"
REPOSITORY = git_objects.Repository(root=None, git_dir="", common_dir="")


def answered(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> dict[str, bytes]:
    monkeypatch.setattr(git_objects, "ask", lambda *_, **__: answer)
    return git_objects.objects(REPOSITORY, [EMPTY, ONE])


WHOLE = f"{EMPTY} blob 0\n\n{ONE} blob 1\n1\n".encode()


def test_a_whole_answer_is_every_object(monkeypatch):
    assert answered(monkeypatch, WHOLE) == {EMPTY: b"", ONE: b"1"}


@pytest.mark.parametrize(
    "size", range(len(WHOLE) - 1)
)  # the last byte is a line's end and nothing of an object
def test_an_answer_that_ends_early_is_an_error_of_git(monkeypatch, size):
    with pytest.raises(git_objects.GitError, match=r"git failed: (its answer ends|the object \w+ is)"):
        answered(monkeypatch, WHOLE[:size])


@pytest.mark.parametrize("content", [b"100644 name", b"\xff name", b"100644"])
def test_a_tree_that_is_no_list_of_files_is_an_error_of_git(content):
    with pytest.raises(git_objects.GitError, match="is not a list of files"):
        list(git_objects._walk({"tree": content}, "tree", size=20))
