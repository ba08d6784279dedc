"""Reads and writes ``images/<name>/variant.toml``: what was asked for, and what it is built on."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprokit.errors import ImageError, UsageError
from reprokit.images.locks import SCHEMA, External
from reprokit.images.packages import read_text

_NEWEST_FORM = 2
_BASE_IMAGE = re.compile(r"(?P<image>[^\s@]+?):(?P<tag>[^\s:@/]+)@(?P<digest>sha256:[0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantChoice:
    """What a person asks for; None leaves it as it was.

    Attributes:
        python: Minor version, ``3.12``.
        machine: ``x86_64`` or ``aarch64``.
        device: ``cpu``, ``cuda`` or ``tpu``.
        system_packages: Packages of the distribution, ``libgl1`` or ``libgl1=1.6.0-1``.
        build: Packages that are distributed as source only, ``name==version``: built here once.
        base_image: ``name:tag@sha256:…`` in place of the base from the registry.
    """

    extras: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    python: str | None = None
    machine: str | None = None
    device: str | None = None
    system_packages: tuple[str, ...] | None = None
    build: tuple[str, ...] | None = None
    base_image: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The content of the file; keys that this module has no name for are kept in ``others``."""

    sources: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    build: tuple[str, ...] = ()
    python: str = ""
    machines: tuple[str, ...] = ()
    device: str = "cpu"
    glibc: str = "2.28"
    indexes: tuple[str, ...] = ()
    system_packages: tuple[str, ...] = ()
    imports_from: tuple[str, ...] = ()
    form: int = 0  # how its image is divided into layers; 0 where nothing is said, which means 1
    base: Mapping[str, Any] = field(default_factory=dict)
    external: tuple[External, ...] = ()
    others: Mapping[str, Any] = field(default_factory=dict)


#: Key of the file → attribute, in the order in which they are written.
_KEYS = {
    "title": "",
    "from": "sources",
    "extras": "extras",
    "groups": "groups",
    "build": "build",
    "python": "python",
    "machines": "machines",
    "device": "device",
    "glibc": "glibc",
    "indexes": "indexes",
    "system_packages": "system_packages",
    "imports_from": "imports_from",
    "form": "form",
}
#: The two bases that an image can have, and when each is taken.
_WHEN = {
    "registry": "Its image is built on this one where the registry can be reached; its digest decides.",
    "bootstrap": "Where it cannot be reached: on a base made of these packages of Debian, pinned in base/.",
}
_HEAD = """\
# The environment {name}: requirements.lock is solved from the files under `from`, by
# `reprokit image lock {name}`. What it is built on is in this folder: no later tool changes it.
"""


def read(path: Path) -> Declared | None:
    """What a variant's file says; None where there is none.

    Raises:
        ImageError: It cannot be read.
    """
    if not path.is_file():
        return None
    try:
        data = tomllib.loads(read_text(path))
        known = {attribute: data.pop(key) for key, attribute in _KEYS.items() if attribute and key in data}
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in known.items()
        }
        base, external = data.pop("base"), externals(data)
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise ImageError(
            f"cannot be read: {error}", where=str(path), fix="make it again with --dependencies"
        ) from error
    others = {key: value for key, value in data.items() if key not in {"schema", "external"}}
    return Declared(**values, base=base, external=external, others=others)


def new(template: Mapping[str, Any]) -> Declared:
    """What a new environment is built on: the bases of the installed tool."""
    return Declared(base=template["base"], form=_NEWEST_FORM)


def externals(data: Mapping[str, Any]) -> tuple[External, ...]:
    """Wheels that the package index does not have, as a file lists them."""
    return tuple(
        External(
            name=one["name"], version=one["version"], requires=tuple(one["requires"]), wheels=one["wheels"]
        )
        for one in data.get("external", ())
    )


def chosen(
    before: Declared, choice: VariantChoice, *, sources: tuple[str, ...], machine: str | None
) -> Declared:
    """A person's choice on top of what there was.

    Raises:
        UsageError: The base image has no digest.
    """
    picked = {
        name: value
        for name in ("extras", "groups", "build", "python", "device", "system_packages")
        if (value := getattr(choice, name)) is not None
    }
    machines = (machine,) if machine else before.machines
    base = before.base
    if choice.base_image is not None:
        match = _BASE_IMAGE.fullmatch(choice.base_image)
        if match is None:
            what = "the base image is not pinned by a digest"
            raise UsageError(what, expected="IMAGE:TAG@sha256:<64 hex digits>", actual=choice.base_image)
        base = {**base, "registry": match.groupdict()}
    return dataclasses.replace(before, sources=sources, machines=machines, base=base, **picked)


def text(name: str, declared: Declared) -> str:
    """The file's text: the same for the same content."""
    others = dict(declared.others)
    title = others.pop("title", f"packages of {', '.join(declared.sources)}")
    tables = {key: value for key, value in others.items() if isinstance(value, dict)}
    lines = [_HEAD.format(name=name) + f"schema = {SCHEMA}", f"title = {_value(title)}"]
    for key, attribute in _KEYS.items():
        value = getattr(declared, attribute) if attribute else ()
        lines += [f"{key} = {_value(value)}"] if value else []
    lines += [f"{key} = {_value(value)}" for key, value in others.items() if key not in tables]
    for key, when in _WHEN.items():
        table = _table(f"base.{key}", declared.base[key])
        lines += [table[0], f"# {when}", *table[1:]]
    for key, value in tables.items():
        lines += _table(key, value)
    for one in declared.external:
        lines += ["", "[[external]]"]
        lines += [f"{key} = {_value(getattr(one, key))}" for key in ("name", "version", "requires")]
        lines += _table("external.wheels", one.wheels)
    return "\n".join([*lines, ""])


def _table(name: str, content: Mapping[str, Any]) -> list[str]:
    key = re.compile(r"[A-Za-z0-9_-]+")
    return [
        "",
        f"[{name}]",
        *(
            f"{one if key.fullmatch(one) else _value(one)} = {_value(value)}"
            for one, value in content.items()
        ),
    ]


def _value(value: Any) -> str:
    """A value in TOML's notation, which for text and lists of it is JSON's."""
    if isinstance(value, dt.datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
