"""A function that a package names stays that function, whatever module of its name is imported later."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import reprokit

PACKAGES = [
    found.name
    for found in pkgutil.walk_packages(reprokit.__path__, "reprokit.")
    if found.ispkg and not found.name.startswith(("reprokit.cli", "reprokit.instrumentation"))
]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_function_that_a_package_names_is_not_hidden_by_a_module_of_that_name(name):
    """``harness.audit`` must stay the function after ``reprokit.harness.audit`` was imported."""
    package = importlib.import_module(name)
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    for exported in set(getattr(package, "__all__", ())) & modules:
        before = getattr(package, exported, None)
        importlib.import_module(f"{name}.{exported}")
        assert before is None or getattr(package, exported) is before
