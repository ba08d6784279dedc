"""An environment record turned into files that rebuild the environment: five forms, one truth.

A record may come from anywhere, so nothing of it reaches a file unless it can be nothing but a package's
name, a version or a plain setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reprokit.capture.export_formats import FORMS, Facts
from reprokit.capture.probe import VARIABLES
from reprokit.core import numerics
from reprokit.errors import ReportError

_TAG = "docker.io/library/python"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+!_-]{0,63}")
_PYTHON = re.compile(r"3\.\d{1,2}\.\d{1,2}")
_BASE = re.compile(r"[a-z0-9][a-z0-9._/:-]{0,200}@sha256:[0-9a-f]{64}")
_VALUE = re.compile(
    r"[ !#%&()*+,./0-9:;<=>?@A-Z\[\]^_a-z{|}~-]{0,500}"
)  # no quote, $, `, backslash, line end
_OF_THE_MACHINE = {"CUDA_LAUNCH_BLOCKING", "CUDA_VISIBLE_DEVICES", "TPU_ACCELERATOR_TYPE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """Files (relative name → text), what to type in their folder, and what they cannot promise."""

    files: Mapping[str, str]
    commands: tuple[str, ...]
    open: tuple[str, ...]


def export(
    record: Mapping[str, Any], *, form: str, lock: str | None = None, base: str | None = None
) -> Exported:
    """Files of one form, a key of ``FORMS``, for a record.

    ``lock`` is the record's own package lock, with hashes (None: versions alone); ``base`` a container image
    by digest with the record's distribution and Python (None: a tag).

    Raises:
        ReportError: The record does not say what is installed, or holds what cannot be a version.
    """
    inside = record.get("inside")
    inside = inside if isinstance(inside, Mapping) else {}
    packages, settings = _packages(inside), _settings(inside)
    facts = Facts(
        python=_python(inside),
        base=_base(inside, base),
        settings=settings,
        requirements=lock if lock is not None else _pins(packages),
        hashed=lock is not None,
    )
    files, commands = FORMS[form](facts)
    return Exported(
        files=files, commands=commands, open=(*_unpromised(inside), *_of_form(form, inside, lock=lock))
    )


def _packages(inside: Mapping[str, Any]) -> dict[str, str]:
    packages = inside.get("packages")
    if not isinstance(packages, Mapping) or not packages:
        raise ReportError(
            "the record does not say which packages were installed",
            fix="name the record of a run: `reprokit env capture --output FILE` without a Python has none",
        )
    for name, version in packages.items():
        if not (_is(_NAME, name) and _is(_VERSION, version)):
            raise ReportError("not a package and its version", actual=repr((name, version))[:120])
    return {name: packages[name] for name in sorted(packages)}


def _settings(inside: Mapping[str, Any]) -> dict[str, str]:
    """The variables that steer numbers, and the mark by which a program knows its profile."""
    told = inside.get("variables")
    found = {
        name: told[name]
        for name in VARIABLES
        if isinstance(told, Mapping) and name in told and name not in _OF_THE_MACHINE
    }
    profile = (inside.get("numerics") or {}).get("profile")
    if profile:
        found[numerics.MARK] = profile
    for name, value in found.items():
        if not _is(_VALUE, value):
            raise ReportError(f"the value of {name} cannot be written to a file", actual=repr(value)[:120])
    return found


def _python(inside: Mapping[str, Any]) -> str:
    python = inside.get("python")
    version = python.get("version") if isinstance(python, Mapping) else None
    if not isinstance(version, str) or not _is(_PYTHON, version):
        raise ReportError("the record does not say which Python it was", actual=repr(version)[:60])
    return version


def _base(inside: Mapping[str, Any], given: str | None) -> str:
    if given is not None:
        if not _is(_BASE, given):
            raise ReportError("not an image named by its digest", actual=repr(given)[:120])
        return given
    release = re.search(r"\((\w+)\)", str((inside.get("os") or {}).get("name", "")))
    minor = ".".join(_python(inside).split(".")[:2])
    return f"{_TAG}:{minor}-slim-{release[1]}" if release else f"{_TAG}:{minor}-slim"


def _pins(packages: Mapping[str, str]) -> str:
    return "".join(f"{name}=={version}\n" for name, version in packages.items())


def _is(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _unpromised(inside: Mapping[str, Any]) -> tuple[str, ...]:
    told = []
    sources = inside.get("sources")
    if isinstance(sources, Mapping) and sources:
        names = ", ".join(sorted(str(name) for name in sources if _is(_NAME, name)))
        told.append(f"installed from a source tree, and not from an index by its version: {names}")
    device = inside.get("device")
    kind = device.get("kind") if isinstance(device, Mapping) else None
    if kind == "cuda":
        told.append("the GPU and its driver are the host's: `reprokit env check` says whether they match")
    elif kind == "tpu":
        told.append("the TPU is the host's: `reprokit env check` says whether it matches")
    if (inside.get("numerics") or {}).get("profile") == "native":
        told.append("recorded under the native profile: its numbers hold on the same kind of CPU only")
    return tuple(told)


def _of_form(form: str, inside: Mapping[str, Any], *, lock: str | None) -> tuple[str, ...]:
    told = []
    libc = inside.get("libc")
    if form in {"requirements", "conda"} and isinstance(libc, Mapping) and libc.get("version"):
        told.append(f"the C library is the host's; the record had {libc.get('name')} {libc['version']}")
    if lock is None:
        told.append("versions without hashes: the record's own lock is not available here")
    return tuple(told)
