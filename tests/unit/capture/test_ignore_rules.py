"""What a commit's .gitignore leaves out is what git says it leaves out."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprokit.capture.ignore_rules import IgnoreRules

PATTERNS = [
    "*.log", "/a", "a/", "a/b", "**/b", "a/**", "a/**/c", "!b.log", "?.log", "[ab].log", "[!a].log", "#a",
    r"\#a", r"\!a", "a ", r"a\ ", "", "/", "**", "*", "a*c", "[]a].log", "[a-c]", "b", "/a/b/", "***", "a.*",
]  # fmt: skip
PATHS = ["a", "b", "a.log", "b.log", "a/b", "a/b/c", "a/c", "b/a", "c", "#a", "!a", "abc", "].log", "d/e/b"]


def git_says(folder, text, path):
    """Whether git leaves a file out; in a repository that holds nothing else."""
    (folder / ".gitignore").write_text(text)
    ended = subprocess.run(
        ["git", "check-ignore", "--no-index", "--quiet", path], cwd=folder, check=False, capture_output=True
    )
    return ended.returncode == 0


def we_say(text, path):
    rules, parts = IgnoreRules({"": text}), path.split("/")
    folders = ["/".join(parts[:count]) for count in range(1, len(parts))]
    return any(rules.leaves_out(folder, is_folder=True) for folder in folders) or rules.leaves_out(
        path, is_folder=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("code")
    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    return place


@settings(max_examples=150)
@given(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4), st.sampled_from(PATHS))
def test_the_rules_are_those_of_git(folder, patterns, path):
    text = "\n".join(patterns) + "\n"
    assert we_say(text, path) == git_says(folder, text, path)


def test_a_nested_file_rules_below_its_folder_and_the_nearest_decides():
    rules = IgnoreRules({"": "*.log\n", "sub": "!keep.log\n/x\n"})
    assert rules.leaves_out("keep.log", is_folder=False)
    assert not rules.leaves_out("sub/keep.log", is_folder=False)
    assert rules.leaves_out("sub/x", is_folder=False)
    assert not rules.leaves_out("sub/deep/x", is_folder=False)


def test_a_pattern_made_to_take_long_leaves_nothing_out():
    assert not IgnoreRules({"": "*a" * 40}).leaves_out("a" * 200, is_folder=False)


def test_lines_end_where_git_ends_them_and_nowhere_else():
    rules = IgnoreRules({"": "# section\x0c*\n# more\x85*\r\nbuild/\r\n"})
    assert not rules.leaves_out("settings.cfg", is_folder=False)
    assert rules.leaves_out("build", is_folder=True)


def test_a_pattern_that_would_take_hours_leaves_nothing_out():
    rules = IgnoreRules({"": "*a*a*a*a*a*b\n**/cache/*/*.py[co]\n"})
    assert not rules.leaves_out("a" * 255 + "b", is_folder=False)
    assert rules.leaves_out("x/cache/y/z.pyc", is_folder=False)


@pytest.mark.parametrize("line", ["!a--b", "!*a*a*a*a*a*a*b", "![[:alpha:]]--b", "![b-a]"])
def test_what_is_taken_in_again_by_a_line_that_is_not_understood_is_not_hidden(line):
    assert not IgnoreRules({"": f"*\n{line}\n"}).leaves_out("a--b", is_folder=False)
