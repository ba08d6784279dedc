"""One mutant made real: in the live function, or in the module as it is imported.

This module knows how the code of a module is swapped; it refuses to know which tests then run.

    >>> trial = all_trials(root, only="core/values", seed=0)[0]
    >>> put_in_place(trial)  # from here on, this process computes with the fault
"""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import random
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants import Mutant, mutants_of

PACKAGES = ("core", "core/comparing", "core/environments", "core/sampling", "core/verdicts", "checks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The ``index``-th mutant of a module.

    Attributes:
        module: ``core/values``.
        path: The module's source.
        index: Place in ``mutants_of``.
        mutant: The mutant.
    """

    module: str
    path: Path
    index: int
    mutant: Mutant

    @property
    def import_name(self) -> str:
        return "reprokit." + self.module.removesuffix("/__init__").replace("/", ".")

    def __str__(self) -> str:
        return f"reprokit/{self.module}.py:{self.mutant.lines[0]}: {self.mutant.what}"


def all_trials(root: Path, *, only: str, seed: int) -> list[Trial]:
    """Every mutant, in an order of which any first part is a random sample stratified over modules.

    Args:
        root: The checkout.
        only: What the module's name begins with; "" for all.
        seed: Another seed, another order.
    """
    chance, placed = random.Random(seed), []
    for path in sorted(one for package in PACKAGES for one in (root / "reprokit" / package).glob("*.py")):
        module = path.relative_to(root / "reprokit").with_suffix("").as_posix()
        if not module.startswith(only):
            continue
        found = mutants_of(ast.parse(path.read_text(encoding="utf-8")))
        trials = [Trial(module=module, path=path, index=i, mutant=one) for i, one in enumerate(found)]
        chance.shuffle(trials)
        placed += [((at + chance.random()) / len(trials), trial) for at, trial in enumerate(trials)]
    return [trial for _, trial in sorted(placed, key=lambda pair: pair[0])]


def put_in_place(trial: Trial) -> None:
    """Give the live function the code of the edited source."""
    name = trial.mutant.function
    owner: Any = importlib.import_module(trial.import_name)
    *classes, last = name.split(".")
    for part in classes:
        owner = getattr(owner, part)
    found = vars(owner)[last]
    for inner in ("__func__", "fget", "__wrapped__"):
        found = getattr(found, inner, found)
    found.__code__ = next(code for code in _all_code(_code_of(trial)) if code.co_qualname == name)


class Finder(importlib.abc.MetaPathFinder):
    """Imports one module with a fault in it; goes first on ``sys.meta_path``."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != self._trial.import_name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        assert spec is not None
        spec.loader = _Loader(name, str(self._trial.path), self._trial)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, trial: Trial) -> None:
        super().__init__(name, path)
        self._trial = trial

    def get_code(self, fullname: str) -> types.CodeType:
        return _code_of(self._trial)


def _code_of(trial: Trial) -> types.CodeType:
    tree = ast.parse(trial.path.read_text(encoding="utf-8"))
    mutants_of(tree)[trial.index].plant()
    return compile(tree, str(trial.path), "exec", dont_inherit=True)


def _all_code(code: types.CodeType) -> list[types.CodeType]:
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return [code, *(one for each in inner for one in _all_code(each))]
