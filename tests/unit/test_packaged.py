"""Pages that the installed package brings: found, linked by commands, and all that messages name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import reprokit
from reprokit import packaged
from reprokit.errors import UsageError

PACKAGE = Path(reprokit.__file__).parent


def test_every_page_has_a_name_of_its_own_and_a_heading():
    pages = [path for kind in packaged.KINDS for path in (packaged.packaged("docs") / kind).glob("*.md")]
    assert len(packaged.topics()) == len(pages) > 20
    assert [name for name, page in packaged.topics().items() if not page.title] == []


def test_a_link_to_another_page_names_the_command_that_shows_it():
    text = packaged.topic("bring-your-own-program").text()
    assert "`reprokit help recipe`" in text
    assert "](" not in text


def test_an_unknown_topic_names_the_nearest():
    with pytest.raises(UsageError, match="reprokit help keep-goldens"):
        packaged.topic("keep-golden")


def test_an_installed_package_looks_inside_itself(tmp_path, monkeypatch):
    (tmp_path / "packaged" / "docs" / "how-to").mkdir(parents=True)
    (tmp_path / "packaged" / "docs" / "how-to" / "one.md").write_text("# One page\n")
    monkeypatch.setattr(packaged, "_PACKAGE", tmp_path)
    assert [page.title for page in packaged.topics().values()] == ["One page"]


def texts_of(path: Path) -> list[str]:
    """Every string of a module that is no docstring."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {ast.get_docstring(node, clean=False) for node in nodes if isinstance(node, documented)}
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [text for text in texts if text not in docstrings]


def test_no_message_names_a_file_that_only_this_repository_has():
    named = [
        (path.name, text)
        for path in PACKAGE.rglob("*.py")
        for text in texts_of(path)
        if re.search(r"(?<![/\w])docs/[\w-]+/[\w-]+\.md", text)
    ]
    assert named == []


def test_every_topic_that_a_message_names_is_there():
    named = {
        name
        for path in PACKAGE.rglob("*.py")
        for text in texts_of(path)
        for name in re.findall(r"`reprokit help ([\w-]+)`", text)
    }
    assert named
    assert named - packaged.topics().keys() == set()
