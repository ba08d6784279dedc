"""The command line calls the other packages through what these name in ``__all__``, and nothing behind it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import reprokit
from reprokit import cli

FOLDER = Path(cli.__file__).parent
#: Modules right below ``reprokit`` that everything may import whole.
OPEN = {
    "compressed",
    "errors",
    "layout",
    "packaged",
    "project",
    "redaction",
    "request",
    "session",
    "workspace",
}
PACKAGES = [
    found.name
    for found in pkgutil.walk_packages(reprokit.__path__, "reprokit.")
    if found.ispkg and not found.name.startswith(("reprokit.cli", "reprokit.instrumentation"))
]


def faults_in(source: str) -> list[str]:
    """Imports of a module of the command line that reach past a package's ``__init__``."""
    return [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(source))
        if reaches_past(node)
    ]


def reaches_past(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(name.name.startswith("reprokit.") for name in node.names)
    if not isinstance(node, ast.ImportFrom) or not f"{node.module}.".startswith("reprokit."):
        return False
    if node.module in {"reprokit", *(f"reprokit.{name}" for name in OPEN)} or node.module.startswith(
        "reprokit.cli"
    ):
        return False
    package = importlib.import_module(node.module)
    return not hasattr(package, "__path__") or any(name.name not in package.__all__ for name in node.names)


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_the_command_line_imports_only_what_a_package_names(path):
    assert faults_in(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "from reprokit.harness.curation.prune import prune",  # a module inside a package
        "from reprokit.harness.curation import checkpoint_file",  # not named
        "import reprokit.images.locks",
        "def f():\n    from reprokit.reports.escaping import one_line",
    ],
)
def test_an_import_that_reaches_past_is_found(line):
    assert len(faults_in(line)) == 1


def test_what_a_package_names_may_be_imported():
    assert faults_in("from reprokit.reports import one_line\nfrom reprokit.errors import UsageError") == []


@pytest.mark.parametrize("name", PACKAGES)
def test_a_function_that_a_package_names_is_not_hidden_by_a_module_of_that_name(name):
    """``harness.audit`` must stay the function after ``reprokit.harness.audit`` was imported."""
    package = importlib.import_module(name)
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    for exported in set(getattr(package, "__all__", ())) & modules:
        before = getattr(package, exported, None)
        importlib.import_module(f"{name}.{exported}")
        assert before is None or getattr(package, exported) is before
