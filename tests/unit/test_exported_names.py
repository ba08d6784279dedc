"""What each package offers: a sorted list of names that exist; the command line uses no other."""

import ast
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import reprokit

ROOT = Path(reprokit.__file__).parent
PACKAGES = [
    "reprokit",
    *(one.name for one in pkgutil.walk_packages(reprokit.__path__, "reprokit.") if one.ispkg),
]
HARNESS = [name for name in PACKAGES if name == "reprokit.harness" or name.startswith("reprokit.harness.")]


def _as_ruff_sorts(name):
    """Constants, then classes, then functions and modules."""
    kind = 0 if re.fullmatch(r"[A-Z0-9_]+", name) else 1 if name[0].isupper() else 2
    return kind, name


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_lists_what_it_offers_sorted_and_all_of_it_is_there(name):
    package = importlib.import_module(name)
    offered = package.__all__
    assert offered == sorted(set(offered), key=_as_ruff_sorts)
    assert [one for one in offered if not hasattr(package, one)] == []
    assert [one for one in offered if one.startswith("_") and one != "__version__"] == []


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_package_defines_itself_is_private_or_listed(name):
    package = importlib.import_module(name)
    defined = {
        node.name
        for node in ast.parse(Path(package.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert {one for one in defined if not one.startswith("_")} <= {*package.__all__, *UNLISTED.get(name, ())}


#: Public by its docstring, and used within the package only.
UNLISTED = {"reprokit.cli": ("LazyGroup",)}


def _imports_of_the_harness(path):
    """Module → names, for every import of the harness in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("reprokit.harness"):
            yield node.module, {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            yield from ((alias.name, set()) for alias in node.names if alias.name.startswith("reprokit.h"))


@pytest.mark.parametrize("path", sorted((ROOT / "cli").glob("*.py")), ids=lambda path: path.stem)
def test_the_command_line_uses_only_what_the_packages_of_the_harness_offer(path):
    for module, names in _imports_of_the_harness(path):
        assert module in HARNESS
        assert names <= set(importlib.import_module(module).__all__)


def test_an_import_that_reaches_into_a_package_would_be_seen(tmp_path):
    path = tmp_path / "verb.py"
    path.write_text("def verb():\n    from reprokit.harness.running.plan import shell_line\n")
    assert list(_imports_of_the_harness(path)) == [("reprokit.harness.running.plan", {"shell_line"})]
    assert "reprokit.harness.running.plan" not in HARNESS


def test_the_package_says_that_it_is_typed_and_the_mark_is_installed():
    settings = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert (ROOT / "py.typed").read_bytes() == b""
    assert settings["tool"]["setuptools"]["package-data"]["reprokit"] == ["py.typed"]
