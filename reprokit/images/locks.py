"""The environments of a project: ``images/lock.toml``, and ``images/<name>/variant.toml`` of a person's own.

Both name bases by digest and wheels hosted elsewhere; one of a person's own has everything in its folder.

>>> read_lock(project).variant("cpu").python
'3.11'
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.errors import ImageError, RecipeError
from reprokit.images.packages import read_text
from reprokit.layout import LOCK
from reprokit.packaged import packaged
from reprokit.project import project_folder

SCHEMA = 1
#: The file of a variant that stands alone, next to its lock.
VARIANT = "variant.toml"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryBase:
    """A base image by digest; ``tag`` is for people."""

    image: str
    tag: str
    digest: str

    @property
    def reference(self) -> str:
        return f"{self.image}@{self.digest}"

    @property
    def title(self) -> str:
        return f"{self.image}:{self.tag}@{self.digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapBase:
    """A base from distribution packages, every time in it clamped to ``timestamp``."""

    suite: str  # the distribution's release
    packages: tuple[str, ...]  # without their dependencies
    timestamp: dt.datetime
    extra: tuple[str, ...] = ()  # those of `packages` that only some variants ask for

    @property
    def epoch(self) -> int:
        """``timestamp`` in seconds since 1970."""
        return int(self.timestamp.timestamp())

    @property
    def date(self) -> str:
        """``timestamp`` as images claim it: ``2026-10-01T00:00:00Z``."""
        return f"{self.timestamp.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """A release whose wheels the package index does not have."""

    name: str
    version: str
    requires: tuple[str, ...]  # its requirements (PEP 508)
    wheels: Mapping[str, str]  # file name → `sha256:…`


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """What environments are built on: both bases, and wheels that the package index does not have."""

    registry: RegistryBase
    bootstrap: BootstrapBase
    external: tuple[External, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One pinned environment."""

    name: str  # `cpu`, or any other under `images/`
    title: str  # a few words for people
    python: str  # major and minor version of its Python
    machines: tuple[str, ...]  # kinds of CPU that its lock covers
    indexes: tuple[str, ...]  # package indexes to ask besides the configured ones
    folder: Path  # `images/<name>`
    glibc: str = "2.28"  # the newest glibc that its wheels may ask for
    imports: tuple[str, ...] = ()  # modules that are imported together, as a test, when the image is built
    system_packages: tuple[str, ...] = ()  # additional distribution packages of its bootstrapped base
    fallback: str | None = None  # variant to take where none of `indexes` can be reached, or None
    minimum_driver: str | None = None  # the oldest NVIDIA driver that runs it, or None
    # What its device needs of a container beyond the hardened default
    relaxations: Mapping[str, Any] = field(default_factory=dict)
    device: str = ""  # what it is for, `cpu` or `cuda`; empty where nothing says so
    sources: tuple[str, ...] = ()  # files that its lock is solved from; empty: `requirements.in`
    imports_from: tuple[str, ...] = ()  # folders of the repository to import from: what `-e .` stands for
    own: Foundation | None = None  # its own bases and wheels hosted elsewhere; None for those of `lock.toml`
    form: int = 1  # how its image is divided into layers: `canonical.ONE_LAYER` or `PACKAGE_LAYERS`
    accepted_images: tuple[
        str, ...
    ] = ()  # IDs of images that were built elsewhere and are taken all the same

    @property
    def packages_path(self) -> Path:
        return self.folder / LOCK

    @property
    def input_path(self) -> Path:
        if self.sources:
            return self.folder.parents[1] / self.sources[0]
        return self.folder / "requirements.in"

    @property
    def local_wheels(self) -> Path:
        """The folder of wheels that no package index has, next to the lock."""
        return self.folder / "local"

    @property
    def declared_in(self) -> Path:
        """The file that names it."""
        return self.folder.parent / "lock.toml" if self.own is None else self.folder / VARIANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What a project's environments are made from.

    Attributes:
        root: The project's folder.
        path: The file that says so: ``images/lock.toml``, or a variant's own.
    """

    root: Path
    path: Path
    registry: RegistryBase
    bootstrap: BootstrapBase
    variants: Mapping[str, Variant]
    external: tuple[External, ...]

    @property
    def dockerfile(self) -> Path:
        return self.path.parent / "Dockerfile"

    def base_packages(self, machine: str) -> Path:
        """The packages of the bootstrapped base for a machine: ``images/base/x86_64.lock``.

        With the extra ones of a variant: ``images/base/x86_64+libpython3.11.lock``.
        """
        return self.path.parent / "base" / f"{'+'.join((machine, *self.bootstrap.extra))}.lock"

    def based_for(self, variant: Variant) -> Lock:
        """This lock with what a variant is built on: its own bases, or its packages of the distribution."""
        if (own := variant.own) is not None:
            packages = tuple(dict.fromkeys((*own.bootstrap.packages, *variant.system_packages)))
            return dataclasses.replace(
                self,
                path=variant.declared_in,
                registry=own.registry,
                bootstrap=dataclasses.replace(own.bootstrap, packages=packages),
                external=own.external,
            )
        extra = variant.system_packages
        if extra == self.bootstrap.extra:
            return self
        common = tuple(name for name in self.bootstrap.packages if name not in self.bootstrap.extra)
        based = dataclasses.replace(self.bootstrap, packages=(*common, *extra), extra=extra)
        return dataclasses.replace(self, bootstrap=based)

    def variant(self, name: str) -> Variant:
        """The variant of that name.

        Raises:
            RecipeError: There is none; the message lists those there are.
        """
        if name not in self.variants:
            raise RecipeError(
                "unknown environment",
                where=str(project_folder(self.root, "images")),
                expected=" or ".join(sorted(self.variants)),
                actual=repr(name),
                fix="name one of these as the recipe's variant, or make it: "
                f"reprokit image lock {name} --dependencies requirements.txt",
            )
        return self.variants[name]


def project_around(start: Path) -> Path:
    """The nearest folder from ``start`` upwards that has environments under ``images/``.

    Raises:
        ImageError: There is none.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (project_folder(folder, "images") / "lock.toml").is_file() or _own_files(folder):
            return folder
    raise ImageError(
        "no environment under images/ here or above",
        where=str(start),
        fix="make one: reprokit image lock NAME --dependencies requirements.txt",
    )


def read_lock(project: Path) -> Lock:
    """Read the environments of a project: ``images/lock.toml``, and every ``images/<name>/variant.toml``.

    A project with variants of its own only needs no ``images/lock.toml``.

    Raises:
        ImageError: There is none of these files, or one is not TOML, lacks a key, or has a name twice.
    """
    path, own = project_folder(project, "images") / "lock.toml", _own_files(project)
    data = _toml(path) if path.is_file() or not own else _toml(packaged("images") / "lock.toml")
    with _mistakes_in(path):
        declared = data["variants"] if path.is_file() else {}
        foundation = _foundation(data, where=path)
        variants = {name: _variant(name, one, path.parent / name) for name, one in declared.items()}
    for file in own:
        name = file.parent.name
        if name in variants:
            raise ImageError(f"the environment {name!r} is declared twice", where=str(file), actual=str(path))
        variants[name] = read_own_variant(file)
    return Lock(
        root=project,
        path=path,
        registry=foundation.registry,
        bootstrap=foundation.bootstrap,
        variants=variants,
        external=foundation.external,
    )


def read_own_variant(path: Path) -> Variant:
    """Read ``images/<name>/variant.toml``.

    Raises:
        ImageError: It is not TOML, lacks a key, or its name cannot be an image's.
    """
    data = _toml(path)
    with _mistakes_in(path):
        name = must_be_name(path.parent.name, where=str(path))
        return dataclasses.replace(
            _variant(name, data, path.parent), own=_foundation(data, where=path), sources=tuple(data["from"])
        )


def lock_of_own(folder: Path) -> Lock:
    """What one environment of a person's own is made from, in a folder that need not be in a project.

    Raises:
        ImageError: Its file cannot be read.
    """
    path = folder / VARIANT
    variant, own = read_own_variant(path), _foundation(_toml(path), where=path)
    lock = Lock(
        root=folder.parent,
        path=path,
        registry=own.registry,
        bootstrap=own.bootstrap,
        variants={variant.name: variant},
        external=own.external,
    )
    return lock.based_for(variant)


def must_be_name(name: str, *, where: str) -> str:
    """The name of an environment, which is part of an image's.

    Raises:
        ImageError: It has capital letters or other signs, or means something else.
    """
    if not _NAME.fullmatch(name) or name == "base":
        what = "lower-case letters, digits, '-', '_' and '.'; not 'base'"
        raise ImageError("this cannot be the name of an environment", where=where, expected=what, actual=name)
    return name


def _own_files(project: Path) -> list[Path]:
    return sorted(project_folder(project, "images").glob(f"*/{VARIANT}"))


def _toml(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # endless digits and nesting too
        raise ImageError(f"not valid TOML: {error}", where=str(path), fix="correct the file") from error
    if data.get("schema") != SCHEMA:
        expected, actual = str(SCHEMA), str(data.get("schema"))
        raise ImageError("unknown schema", where=str(path), expected=expected, actual=actual)
    return data


@contextlib.contextmanager
def _mistakes_in(path: Path) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise ImageError(f"the key {error} is missing", where=str(path), fix="add it") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise ImageError(f"a value has the wrong type: {error}", where=str(path)) from error


def _foundation(data: Mapping[str, Any], *, where: Path) -> Foundation:
    registry, bootstrap = data["base"]["registry"], data["base"]["bootstrap"]
    if not _DIGEST.fullmatch(registry["digest"]):
        expected = "sha256:<64 hex digits>"
        raise ImageError("the base is not pinned by a digest", where=str(where), expected=expected)
    return Foundation(
        registry=RegistryBase(image=registry["image"], tag=registry["tag"], digest=registry["digest"]),
        bootstrap=BootstrapBase(
            suite=bootstrap["suite"],
            packages=tuple(bootstrap["packages"]),
            timestamp=bootstrap["timestamp"],
        ),
        external=tuple(
            External(name=e["name"], version=e["version"], requires=tuple(e["requires"]), wheels=e["wheels"])
            for e in data.get("external", ())
        ),
    )


def _form(data: Mapping[str, Any]) -> int:
    form = data.get("form", 1)
    if form not in (1, 2) or isinstance(form, bool):
        raise ValueError(f"form is {form!r}: this version of reprokit knows 1 and 2")
    return int(form)


def _variant(name: str, data: Mapping[str, Any], folder: Path) -> Variant:
    accepted = tuple(data.get("accepted_images", ()))
    if wrong := [one for one in accepted if not _DIGEST.fullmatch(one)]:
        raise ValueError(
            f"accepted_images of {name}: {wrong[0]!r} is not an image ID (sha256:<64 hex digits>)"
        )
    return Variant(
        name=name,
        title=data["title"],
        python=data["python"],
        machines=tuple(data["machines"]),
        indexes=tuple(data.get("indexes", ())),
        folder=folder,
        glibc=data.get("glibc", "2.28"),
        imports=tuple(data.get("imports", ())),
        system_packages=tuple(data.get("system_packages", ())),
        fallback=data.get("fallback"),
        minimum_driver=data.get("minimum_driver"),
        relaxations=dict(data.get("relaxations", {})),
        device=data.get("device", ""),
        imports_from=tuple(data.get("imports_from", ())),
        form=_form(data),
        accepted_images=accepted,
    )
