"""Loading every file of a folder as a plugin: checks and adapters are found and verified here.

A file is checked against the protocol of its folder when it is loaded, so a mistake in it is an error that
names the file, the attribute and what is expected, and never a plugin that is left out or breaks later.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reprokit.errors import CannotJudgeError

_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFolder:
    """A folder whose files are plugins of one kind.

    Attributes:
        kind: What one plugin is called in messages.
        protocol: What a file must offer: annotated attributes and functions. It has an ORDER, unique.
        guide: The page that says how one is written.
        prefix: Begins the names of the files that are plugins; "" where every file is one.
        file_name: The attribute that must be the file's name, or None.
        unique: Attributes whose values differ in every file.
    """

    package: str
    kind: str
    protocol: type
    guide: str
    prefix: str = ""
    file_name: str | None = None
    unique: tuple[str, ...] = ("ORDER",)


def names(path: Iterable[str], *, prefix: str = "") -> tuple[str, ...]:
    """The names of the plugins in ``__path__`` of a package, sorted; none of them is imported."""
    return tuple(
        sorted(module.name for module in pkgutil.iter_modules(path) if module.name.startswith(prefix))
    )


def load(folder: PluginFolder, path: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """Every plugin of a folder by its ORDER: file name and module; a ``CannotJudgeError`` for a wrong one."""
    found = [(name, _loaded(folder, name)) for name in names(path, prefix=folder.prefix)]
    for attribute in folder.unique:
        first: dict[Any, str] = {}
        for name, module in found:
            value = getattr(module, attribute)
            if value in first:
                raise _refused(
                    folder,
                    name,
                    f"its {attribute} {value!r} is that of {first[value]}.py",
                    expected=f"an {attribute} of its own",
                )
            first[value] = name
    return tuple(sorted(found, key=lambda one: one[1].ORDER))


def _loaded(folder: PluginFolder, name: str) -> Any:
    try:
        module = importlib.import_module(f"{folder.package}.{name}")
    except (Exception, SystemExit) as error:
        why = f"it cannot be imported: {type(error).__name__}: {error}"
        raise _refused(folder, name, why, expected="a file that can be imported") from error
    for attribute, kind in typing.get_type_hints(folder.protocol).items():
        _verify_attribute(folder, name, module, attribute, kind)
    for function, wanted in inspect.getmembers(folder.protocol, inspect.isfunction):
        if not function.startswith("_"):
            _verify_function(folder, name, module, function, wanted)
    if folder.file_name is not None and getattr(module, folder.file_name) != name:
        _raise_wrong(folder, name, module, folder.file_name, expected=f"{name!r}, the name of its file")
    return module


def _verify_attribute(folder: PluginFolder, name: str, module: Any, attribute: str, kind: Any) -> None:
    words = kind.__name__ if isinstance(kind, type) else str(kind).removeprefix("collections.abc.")
    expected = f"{attribute} of type {words}" + ("" if kind in {int, bool} else ", not empty")
    if not hasattr(module, attribute):
        raise _refused(folder, name, f"it has no {attribute}", expected=expected)
    if not _fits(getattr(module, attribute), kind):
        _raise_wrong(folder, name, module, attribute, expected=expected)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is exactly of a type (True is no int), and not an empty text or list."""
    if typing.get_origin(kind) is Sequence:
        (item,) = typing.get_args(kind)
        return isinstance(value, tuple | list) and bool(value) and all(_fits(one, item) for one in value)
    return type(value) is kind and value != ""


def _verify_function(folder: PluginFolder, name: str, module: Any, function: str, wanted: Any) -> None:
    """See that a function can be called as the protocol's is: same places, same keywords."""
    parameters = list(inspect.signature(wanted).parameters.values())[1:]  # without self
    signature = inspect.Signature(parameters)
    expected = f"{function}({', '.join(parameter.name for parameter in parameters)})"
    offered = getattr(module, function, None)
    if not inspect.isfunction(offered):
        raise _refused(folder, name, f"it has no function {function}", expected=expected)
    by_place = [parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    by_name = {
        parameter.name: parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    }
    try:
        inspect.signature(offered).bind(*by_place, **by_name)
    except TypeError as error:
        raise _refused(
            folder,
            name,
            f"its function {function} takes other arguments than {signature}: {error}",
            expected=expected,
            actual=f"{function}({', '.join(inspect.signature(offered).parameters)})",
        ) from error


def _raise_wrong(folder: PluginFolder, name: str, module: Any, attribute: str, *, expected: str) -> None:
    actual = f"{attribute} = {getattr(module, attribute)!r}"[:_SHOWN]
    raise _refused(folder, name, f"its {attribute} is wrong", expected=expected, actual=actual)


def _refused(
    folder: PluginFolder, name: str, why: str, *, expected: str, actual: str | None = None
) -> CannotJudgeError:
    return CannotJudgeError(
        f"this file is not {'an' if folder.kind[0] in 'aeiou' else 'a'} {folder.kind}: {why}",
        where=f"{folder.package.replace('.', '/')}/{name}.py",
        expected=expected,
        actual=actual,
        fix=f"correct the file as {folder.guide} says, or remove it",
    )
