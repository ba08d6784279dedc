"""What each package offers: a sorted list of names that exist."""

import ast
import importlib.util
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


def _as_ruff_sorts(name):
    """Constants, then classes, then functions and modules."""
    kind = 0 if re.fullmatch(r"[A-Z0-9_]+", name) else 1 if name[0].isupper() else 2
    return kind, name


def _is_there(package, name):
    """A name of the package, or a module in it, which is loaded only where it is used."""
    return hasattr(package, name) or importlib.util.find_spec(f"{package.__name__}.{name}") is not None


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_lists_what_it_offers_sorted_and_all_of_it_is_there(name):
    package = importlib.import_module(name)
    offered = package.__all__
    assert offered == sorted(set(offered), key=_as_ruff_sorts)
    assert [one for one in offered if not _is_there(package, one)] == []
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


def test_the_package_says_that_it_is_typed_and_the_mark_is_installed():
    settings = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert (ROOT / "py.typed").read_bytes() == b""
    assert settings["tool"]["setuptools"]["package-data"]["reprokit"] == ["py.typed"]
