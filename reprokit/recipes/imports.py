"""Which files of ``recipes/parts/`` a trainer imports, itself or through another part, read from the source.

A run gets these files and no others: a part that was overlooked here cannot be imported in a run, which then
ends with an ImportError. Names that are known only while a program runs (``importlib``, ``exec``) may be any
part's, so all parts count for a file that uses these.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reprokit.core.records import digest, digest_bytes
from reprokit.errors import RecipeError
from reprokit.recipes.mistakes import did_you_mean
from reprokit.recipes.source_file import must_be_inside, read_bytes

#: Folder of building blocks of trainers, in the folder of recipes, and what it is called in an import.
PARTS = "parts"
PACKAGE = f"recipes.{PARTS}"

# A part named in text, such as the entry point of an environment: "recipes.parts.pinpad:PinPad".
_NAMED_IN_TEXT = re.compile(rf"(?<![\w.]){re.escape(PACKAGE)}(?!\w)(?:\.(?P<below>[A-Za-z_][\w.]*))?")
_IMPORTS_BY_NAME = frozenset({"builtins", "imp", "importlib", "pkgutil", "runpy", "zipimport"})
_IMPORTS_NOTHING = ("importlib.metadata", "importlib.resources")
_RUNS_TEXT = frozenset({"__builtins__", "__import__", "__loader__", "__spec__", "compile", "eval", "exec"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFile:
    """A file of ``parts/``, read once: its name below that folder, where it is, what it holds."""

    name: str
    path: Path
    content: bytes


@dataclass(frozen=True, slots=True)
class _Import:
    """A module that a file imports, ``recipes.parts`` itself for any of them."""

    name: str  # dotted; what follows the module's own name is something in it
    line: int  # where
    certain: bool = True  # whether there must be such a part; else all parts count where there is none


def imported_parts(content: bytes, *, where: str, recipes_dir: Path) -> tuple[PartFile, ...]:
    """Every part that a trainer needs, in the order of names.

    Raises:
        RecipeError: It imports a part that is not there, or a part is not Python.
    """
    found: dict[Path, PartFile] = {}
    unread = [(content, where, "")]
    while unread:
        source, place, package = unread.pop()
        for one in _imports(source, place, package):
            for path in _files(one, recipes_dir / PARTS, where=place):
                if path not in found:
                    part = _read(path, recipes_dir)
                    found[path] = part
                    unread.append((part.content, str(path), _package_of(part.name)))
    return tuple(sorted(found.values(), key=lambda part: part.name))


def digest_of_parts(parts: tuple[PartFile, ...]) -> str:
    """One digest of names and contents."""
    return digest({part.name: digest_bytes(part.content) for part in parts})


def parse_python(content: bytes, *, where: str) -> ast.Module:
    """The syntax tree of a source file.

    Raises:
        RecipeError: It is not Python.
    """
    try:
        return ast.parse(content)
    except SyntaxError as error:
        raise RecipeError(f"not Python: {error.msg}", where=f"{where}:{error.lineno or 1}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise RecipeError(f"not Python: {error or 'nested too deep'}", where=f"{where}:1") from error


def _imports(content: bytes, where: str, package: str) -> tuple[_Import, ...]:
    try:
        return _imports_in(content, package)
    except RecipeError:
        parse_python(content, where=where)  # says where
        raise


@functools.lru_cache(maxsize=64)  # nothing but the bytes decides, wherever they lie
def _imports_in(content: bytes, package: str) -> tuple[_Import, ...]:
    tree = parse_python(content, where="")
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    nodes = (node for node in ast.walk(tree) if id(node) not in docstrings)
    return tuple(one for node in nodes for one in _imports_of(node, package))


def _imports_of(node: ast.AST, package: str) -> Iterator[_Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from _module(alias.name, node.lineno)
    elif isinstance(node, ast.ImportFrom):
        above = _absolute(node, package)
        for alias in node.names:
            name = above if alias.name == "*" else f"{above}.{alias.name}"
            yield from _module(name, node.lineno)
            if alias.name == "*" and name == "recipes":
                yield _Import(PACKAGE, node.lineno)
    elif isinstance(node, ast.Name) and node.id in _RUNS_TEXT and isinstance(node.ctx, ast.Load):
        yield _Import(PACKAGE, node.lineno)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        for match in _NAMED_IN_TEXT.finditer(node.value):
            below = (match["below"] or "").rstrip(".")
            yield _Import(f"{PACKAGE}.{below}".rstrip("."), node.lineno, certain=False)


def _module(name: str, line: int) -> Iterator[_Import]:
    if name in {"recipes", PACKAGE} or name.startswith(f"{PACKAGE}."):
        yield _Import(PACKAGE if name == "recipes" else name, line)
    elif name.partition(".")[0] in _IMPORTS_BY_NAME and not name.startswith(_IMPORTS_NOTHING):
        yield _Import(PACKAGE, line)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """The module of ``from … import``; a relative one counted from the package that the file is in."""
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    return ".".join([*above, *filter(None, [node.module])])


def _files(one: _Import, folder: Path, *, where: str) -> list[Path]:
    """The files that an import loads: the module, and ``__init__.py`` of every package that it is in."""
    names = one.name.removeprefix(PACKAGE).strip(".").split(".")
    found = _resolved(names, folder) if names != [""] else _all(folder)
    if found is None and one.certain:
        known = (path.stem if path.is_file() else path.name for path in folder.glob("[!_]*"))
        raise RecipeError(
            f"there is no part {names[0]!r}",
            where=f"{where}:{one.line}",
            expected=f"a file of {folder}",
            fix=did_you_mean(names[0], known),
        )
    return _all(folder) if found is None else found


def _resolved(names: list[str], folder: Path) -> list[Path] | None:
    """The files of a module by its dotted name below ``parts``; None where there is no such module."""
    found = _own_file(folder)
    for name in names:
        package, module = folder / name, folder / f"{name}.py"
        if module.is_file() and not _own_file(package):
            return [*found, module]
        if not package.is_dir():  # then it is something that the package itself defines
            return found if _own_file(folder) else None
        folder = package
        found += _own_file(folder)
    return [*found, *_all(folder)]


def _own_file(package: Path) -> list[Path]:
    return [file] if (file := package / "__init__.py").is_file() else []


def _all(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def _read(path: Path, recipes_dir: Path) -> PartFile:
    must_be_inside(path, recipes_dir, where=str(path))
    name = path.relative_to(recipes_dir / PARTS).as_posix()
    return PartFile(name=name, path=path, content=read_bytes(path))


def _package_of(name: str) -> str:
    """The package that a part is in: ``recipes.parts`` for ``sum_tree.py``."""
    return ".".join([PACKAGE, *Path(name).parent.parts])
