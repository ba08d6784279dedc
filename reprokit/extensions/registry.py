"""The extensions that this process has loaded, and what they bring.

What a process has imported cannot be taken back, so this is the state of the process, and is kept here alone.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.core.extension_record import RecordedExtension
from reprokit.errors import UsageError
from reprokit.extensions import importing, installed
from reprokit.extensions.declaration import KINDS, Extension
from reprokit.extensions.named import NamedExtension, parse
from reprokit.feature import FEATURES
from reprokit.feature import load as load_place


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedExtension:
    """An extension that was imported.

    Attributes:
        digest: SHA-256 over its modules.
        declaration: What it brings.
    """

    named: NamedExtension
    digest: str
    declaration: Extension

    @property
    def label(self) -> str:
        return self.named.label

    def names(self, kind: str) -> tuple[str, ...]:
        """The names of what it brings of a kind."""
        return tuple(getattr(self.declaration, kind))


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenExtension:
    """An extension that is named and installed, and was not loaded: ``why``, a clause."""

    named: NamedExtension
    why: str


#: Whether code of an extension runs now: what it asks of ``reprokit.api`` then loads no other list.
_AT_WORK: ContextVar[bool] = ContextVar("_AT_WORK", default=False)


@dataclass(slots=True)
class _State:
    asked: tuple[NamedExtension, ...] | None = None
    loaded: tuple[LoadedExtension, ...] = ()
    broken: tuple[BrokenExtension, ...] = ()
    imported: tuple[tuple[installed.VerifiedExtension, importing.VerifiedFinder], ...] = ()
    listed_by: str = ""


_STATE = _State()


def load(listed: Iterable[object], *, site_packages: Path | None = None, listed_by: str = "") -> None:
    """Load the extensions of a list; a list that is loaded already is not loaded again.

    Nothing is imported before every one of them was found. One that was changed, or does not work, is left
    out and is in ``broken`` from then on.

    Args:
        listed: ``NAME==VERSION`` each.
        site_packages: Where they must lie; that of this interpreter where it is None.
        listed_by: The commit that the list is of; "" where it is that of the working tree.

    Raises:
        UsageError: An entry names no exact version, or one that is not installed; two bring the same name;
            or this process has loaded another list.
    """
    asked = tuple(parse(one) for one in listed)
    if _STATE.asked and asked != _STATE.asked:
        raise UsageError(
            "this process has loaded other extensions",
            expected=", ".join(one.label for one in _STATE.asked) or "none",
            actual=", ".join(one.label for one in asked) or "none",
            fix="use another process for another project",
        )
    if _STATE.asked == asked:
        return
    if twice := sorted({one.name for one in asked if [other.name for other in asked].count(one.name) > 1}):
        raise UsageError(f"[tool.reprokit] extensions names {twice[0]} twice")
    place = site_packages or Path(sysconfig.get_path("purelib"))
    folders = {one: installed.find(one, site_packages=place) for one in asked}
    verified, broken = [], []
    for one, folder in folders.items():
        try:
            verified.append(_verified(one, folder, place))
        except installed.RefusedError as error:
            broken.append(BrokenExtension(named=one, why=str(error)))
    _STATE.asked, _STATE.listed_by = asked, listed_by
    _import(verified, broken)


def _verified(named: NamedExtension, folder: Path, place: Path) -> installed.VerifiedExtension:
    found = installed.verify(named, folder, site_packages=place)
    if named.package in sys.modules:
        raise installed.RefusedError(f"another module {named.package} was imported before it")
    if found.entry_name in FEATURES:
        raise UsageError(f"the extension {named.label} calls itself {found.entry_name}, which is built in")
    return found


def _import(verified: Sequence[installed.VerifiedExtension], broken: list[BrokenExtension]) -> None:
    loaded, imported = list[LoadedExtension](), []
    for extension in verified:
        finder = importing.put_first(extension)
        try:
            with redirect_stdout(sys.stderr):
                declaration = _declaration(extension)
        except (Exception, SystemExit) as error:  # of others: whatever it raises, the tool goes on without it
            importing.forget(extension, finder)
            broken.append(BrokenExtension(named=extension.named, why=f"{type(error).__name__}: {error}"))
            continue
        imported.append((extension, finder))
        loaded.append(
            LoadedExtension(named=extension.named, digest=extension.digest, declaration=declaration)
        )
    _STATE.loaded, _STATE.broken, _STATE.imported = tuple(loaded), tuple(broken), tuple(imported)
    for kind in KINDS:
        names = [name for one in loaded for name in one.names(kind)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"two extensions bring the {KINDS[kind]} {twice[0]!r}", fix="name one of them")


def _declaration(extension: installed.VerifiedExtension) -> Extension:
    module = extension.entry.partition(":")[0]
    if module not in extension.modules:
        raise installed.RefusedError(f"its entry point names {module}, which is not one of its modules")
    found = load_place(extension.entry)
    if not isinstance(found, Extension):
        raise TypeError(f"{extension.entry} is not a reprokit.api.extensions.Extension")
    for kind, word in KINDS.items():
        for name, value in getattr(found, kind).items():
            if not isinstance(name, str) or not name.replace("-", "_").isidentifier() or not name.islower():
                raise ValueError(
                    f"the name of a {word} has lower-case letters, digits, - and _, not {name!r}"
                )
            place = value.command if kind == "verbs" else value
            if not isinstance(place, str) or place.partition(":")[0] not in extension.modules:
                raise ValueError(f"the {word} {name} is at {place!r}, which is not one of its modules")
    return found


@contextmanager
def at_work() -> Iterator[None]:
    """While a row, a section or a cause of an extension is asked: what it prints is no part of our answer."""
    token = _AT_WORK.set(True)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _AT_WORK.reset(token)


def is_at_work() -> bool:
    """Whether one is asked now."""
    return _AT_WORK.get()


def listed_by() -> str:
    """The commit that the list is of; "" where it is that of the working tree."""
    return _STATE.listed_by


def loaded() -> tuple[LoadedExtension, ...]:
    """The extensions that are loaded, in the order of the list."""
    return _STATE.loaded


def broken() -> tuple[BrokenExtension, ...]:
    """Those that are named and installed, and were not loaded."""
    return _STATE.broken


def brought(
    kind: str, *, core: Collection[str] = (), form: type | None = None
) -> Iterator[tuple[LoadedExtension, str, Any]]:
    """What the loaded extensions bring of a kind: whose it is, its name, and the object.

    Raises:
        UsageError: One has a name of ``core``: what is built in cannot be replaced. Or it cannot be imported,
            or is not of the ``form``; a function where that is None.
    """
    for one, name, found, why in brought_or_why(kind, core=core, form=form):
        if why:
            raise UsageError(f"the {KINDS[kind]} {name} of the extension {one.label} {why}")
        yield one, name, found


def brought_or_why(
    kind: str, *, core: Collection[str] = (), form: type | None = None
) -> Iterator[tuple[LoadedExtension, str, Any, str]]:
    """As ``brought``, for what the tool can go on without: the object, or None and why, a clause.

    Raises:
        UsageError: One has a name of ``core``.
    """
    for one in _STATE.loaded:
        must_be_new(one, kind, core)
        for name, place in getattr(one.declaration, kind).items():
            try:
                with redirect_stdout(sys.stderr):
                    found = load_place(place)
            except (Exception, SystemExit) as error:
                yield one, name, None, f"cannot be imported: {type(error).__name__}: {error}"
                continue
            if callable(found) if form is None else isinstance(found, form):
                yield one, name, found, ""
                continue
            wanted = "a function" if form is None else f"a {form.__name__}"
            yield one, name, None, f"is not {wanted}: {repr(found)[:80]}"


def must_be_there(kind: str, *, form: type) -> None:
    """Refuse an extension that does not have what it declares of a kind.

    Raises:
        UsageError: Something cannot be imported, or is not of the ``form``.
    """
    for _ in brought(kind, form=form):
        pass


def must_be_new(extension: LoadedExtension, kind: str, core: Collection[str]) -> None:
    """Refuse an extension that brings something of a built-in's name.

    Raises:
        UsageError: It does.
    """
    if taken := sorted(set(extension.names(kind)) & set(core)):
        raise UsageError(
            f"the extension {extension.label} brings a {KINDS[kind]} called {taken[0]!r}, which is built in",
            fix="remove it from [tool.reprokit] extensions",
        )


def recorded() -> tuple[RecordedExtension, ...]:
    """What is written of the loaded extensions into records: who they are, and what can have had a say."""
    return tuple(
        RecordedExtension(
            name=one.named.name,
            version=one.named.version,
            digest=one.digest,
            log_formats=one.names("log_formats"),
            places=one.names("places"),
        )
        for one in _STATE.loaded
    )


def why_not_loaded(wanted: Mapping[str, str], *, digest: str = "") -> str:
    """Why one that a recipe or a golden names is not there as named; "" where it is.

    Args:
        wanted: ``name`` and ``version``.
        digest: Of its modules, where that is known.
    """
    name, version = wanted["name"], wanted["version"]
    for one in _STATE.loaded:
        if one.named.name == name and one.named.version == version and digest in {"", one.digest}:
            return ""
        if one.named.name == name:
            other = f"version {one.named.version}" if one.named.version != version else "another digest"
            return f"the extension {name} {version} is loaded here with {other}"
    for bad in _STATE.broken:
        if bad.named.name == name:
            return f"the extension {name} {version} was not loaded: {bad.why}"
    return f"the extension {name} {version} is not named in [tool.reprokit] extensions"


def hint_of_unnamed() -> str:
    """That installed extensions that the project does not name may have what is missing; "" without any."""
    place = Path(sysconfig.get_path("purelib"))
    unnamed = [one for one in installed.every_installed(place) if one not in (_STATE.asked or ())]
    if not unnamed:
        return ""
    names = ", ".join(f'"{one.name}=={one.version}"' for one in unnamed)
    return f"if an installed extension has it, name that one in [tool.reprokit] extensions: {names}"


def unload() -> None:
    """Forget what was loaded, for tests; what other modules took from it stays."""
    for extension, finder in _STATE.imported:
        importing.forget(extension, finder)
    _STATE.asked, _STATE.loaded, _STATE.broken, _STATE.imported = None, (), (), ()
    _STATE.listed_by = ""
