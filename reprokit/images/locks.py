"""``images/lock.toml``: the variants, the bases they are built on, wheels hosted elsewhere.

>>> read_lock(project).variant("cpu").python
'3.11'
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.errors import ImageError, RecipeError
from reprokit.images.packages import read_text
from reprokit.layout import LOCK

SCHEMA = 1
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
class Variant:
    """One pinned environment."""

    name: str  # `cpu`, `cuda` or `tpu`
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
    accepted_images: tuple[
        str, ...
    ] = ()  # IDs of images that were built elsewhere and are taken all the same

    @property
    def packages_path(self) -> Path:
        return self.folder / LOCK

    @property
    def input_path(self) -> Path:
        return self.folder / "requirements.in"


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """A release whose wheels the package index does not have."""

    name: str
    version: str
    requires: tuple[str, ...]  # its requirements (PEP 508)
    wheels: Mapping[str, str]  # file name → `sha256:…`


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """``images/lock.toml``."""

    path: Path
    registry: RegistryBase
    bootstrap: BootstrapBase
    variants: Mapping[str, Variant]
    external: tuple[External, ...]

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.path.parents[1]

    @property
    def dockerfile(self) -> Path:
        return self.path.parent / "Dockerfile"

    def base_packages(self, machine: str) -> Path:
        """The packages of the bootstrapped base for a machine: ``images/base/x86_64.lock``.

        With the extra ones of a variant: ``images/base/x86_64+libpython3.11.lock``.
        """
        return self.path.parent / "base" / f"{'+'.join((machine, *self.bootstrap.extra))}.lock"

    def based_for(self, variant: Variant) -> Lock:
        """This lock with the bootstrapped base that a variant is built on."""
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
                where=str(self.path),
                expected=" or ".join(sorted(self.variants)),
                actual=repr(name),
                fix="name one of these as the recipe's variant, or add it to images/lock.toml",
            )
        return self.variants[name]


def project_around(start: Path) -> Path:
    """The nearest folder from ``start`` upwards that has ``images/lock.toml``.

    Raises:
        ImageError: There is none.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / "images" / "lock.toml").is_file():
            return folder
    raise ImageError("no images/lock.toml here or above", where=str(start), fix="cd into a reprokit project")


def read_lock(project: Path) -> Lock:
    """Read ``images/lock.toml`` of a project.

    Raises:
        ImageError: It is missing, not TOML, or lacks a key.
    """
    path = project / "images" / "lock.toml"
    try:
        return _lock(path, tomllib.loads(read_text(path)))
    except tomllib.TOMLDecodeError as error:
        raise ImageError(f"not valid TOML: {error}", where=str(path), fix="correct the file") from error
    except KeyError as error:
        raise ImageError(f"the key {error} is missing", where=str(path), fix="add it") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise ImageError(f"a value has the wrong type: {error}", where=str(path)) from error


def _lock(path: Path, data: Mapping[str, Any]) -> Lock:
    if data["schema"] != SCHEMA:
        raise ImageError("unknown schema", where=str(path), expected=str(SCHEMA), actual=str(data["schema"]))
    registry, bootstrap = data["base"]["registry"], data["base"]["bootstrap"]
    if not _DIGEST.fullmatch(registry["digest"]):
        expected = "sha256:<64 hex digits>"
        raise ImageError("the base is not pinned by a digest", where=str(path), expected=expected)
    return Lock(
        path=path,
        registry=RegistryBase(image=registry["image"], tag=registry["tag"], digest=registry["digest"]),
        bootstrap=BootstrapBase(
            suite=bootstrap["suite"],
            packages=tuple(bootstrap["packages"]),
            timestamp=bootstrap["timestamp"],
        ),
        variants={name: _variant(name, one, path.parent) for name, one in data["variants"].items()},
        external=tuple(
            External(name=e["name"], version=e["version"], requires=tuple(e["requires"]), wheels=e["wheels"])
            for e in data.get("external", ())
        ),
    )


def _variant(name: str, data: Mapping[str, Any], folder: Path) -> Variant:
    accepted = tuple(data.get("accepted_images", ()))
    if wrong := [one for one in accepted if not _DIGEST.fullmatch(one)]:
        raise ValueError(f"accepted_images of {name}: {wrong[0]!r} is no image ID (sha256:<64 hex digits>)")
    return Variant(
        name=name,
        title=data["title"],
        python=data["python"],
        machines=tuple(data["machines"]),
        indexes=tuple(data.get("indexes", ())),
        folder=folder / name,
        glibc=data.get("glibc", "2.28"),
        imports=tuple(data.get("imports", ())),
        system_packages=tuple(data.get("system_packages", ())),
        fallback=data.get("fallback"),
        minimum_driver=data.get("minimum_driver"),
        relaxations=dict(data.get("relaxations", {})),
        accepted_images=accepted,
    )
