"""Environment records: everything about machine, packages, source and settings, in one place.

What could not be seen is listed under ``missing`` with the reason, and no secret gets in: variables come from
a list of allowed names, addresses lose their credentials, and every text is looked over once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reprokit.capture.interpreter import capture_interpreter
from reprokit.capture.outside_code import outside_code
from reprokit.capture.probe import VARIABLES
from reprokit.capture.software import capture_software
from reprokit.capture.source import capture_source
from reprokit.core.records import SCHEMA_VERSION
from reprokit.redaction import redact, redact_command, secret_values, without

if TYPE_CHECKING:
    from reprokit.core.environment_record import EnvironmentRecord, InsideFacts, MachineFacts, SourceFacts

__all__ = [
    "capture_host",
    "capture_interpreter",
    "environment_diff",
    "merge",
    "outside_code",
    "read_record",
    "redact_command",
    "secret_values",
    "without",
]

_PACKAGE = re.compile(r"[A-Za-z0-9._-]{1,100}")
_VERSION = re.compile(r"[A-Za-z0-9.+!_-]{1,64}")
_OF_OTHERS = {"source", "plain_inside"}  # what a host says of a run to come, in sections of their own
_NOTHING_INSIDE = "the program left no record from inside its environment"
_NO_PACKAGE = "its Python has no package"


def capture_host(
    project: Path, *, source: Mapping[str, Any] | None = None, only: Sequence[str] = ()
) -> MachineFacts:
    """The section ``host`` of environment.json with its ``missing``, and as ``source`` the project's tree.

    With ``source`` that is what is said of the tree, and none of its files is read. With ``only`` the tree
    has but those files and folders of its commit.
    """
    # Not above: this package is imported inside the environment that trains, without psutil and tomllib.
    from reprokit.capture.hardware import capture_hardware  # noqa: PLC0415
    from reprokit.project import settings_of  # noqa: PLC0415

    machine, programs = capture_hardware(project), capture_software()
    missing = {**(machine.pop("missing") or {}), **programs.pop("missing")}
    if source is None:
        told = settings_of(project)
        source = capture_source(project, apart_from=(told.runs, told.reports), only=only)
    return cast("MachineFacts", {**programs, **machine, "missing": missing, "source": source})


def merge(
    inside: InsideFacts,
    host: MachineFacts,
    *,
    source: SourceFacts,
    image: Mapping[str, Any] | None,
    limits: Mapping[str, Any] | None,
) -> EnvironmentRecord:
    """One ``environment.json`` from what was seen inside (which is not trusted) and outside.

    ``image`` is None for a plain command, ``limits`` where nothing confined it; ``missing`` maps dotted paths
    to reasons.
    """
    sections: dict[str, dict[str, Any]] = {
        "inside": dict(inside),
        "host": {name: value for name, value in host.items() if name not in _OF_OTHERS},
        "source": dict(source),
    }
    missing = {} if inside else {"inside": _NOTHING_INSIDE}
    for section, content in sections.items():
        missing |= _reasons(section, content.pop("missing", {}))
    if sections["inside"].get("packages") == {}:
        missing.setdefault("inside.packages", _NO_PACKAGE)
    packages = _versions(sections["inside"].pop("packages", None))
    sources = sections["inside"].pop("sources", None)
    if "variables" in sections["inside"]:
        sections["inside"]["variables"] = _allowed(sections["inside"]["variables"])
    _add_driver(sections["inside"], sections["host"])
    outside = {"image": image and _without_paths(image), "limits": limits and dict(limits)}
    record = {"schema": SCHEMA_VERSION, **sections, **outside, "missing": dict(sorted(missing.items()))}
    cleaned: dict[str, Any] = redact(record)
    if packages is not None:  # put back: google-auth is a package's name, and its version no secret
        cleaned["inside"]["packages"] = packages
    if isinstance(sources, Mapping):  # likewise: pyjwt is a package's name
        cleaned["inside"]["sources"] = {str(name): redact(origin) for name, origin in sources.items()}
    return cast("EnvironmentRecord", cleaned)


def _reasons(section: str, missing: Any) -> dict[str, str]:
    if not isinstance(missing, Mapping):
        return {}
    return {f"{section}.{field}": str(reason) for field, reason in missing.items()}


def _versions(packages: Any) -> dict[str, str] | None:
    if not isinstance(packages, Mapping):
        return None
    return {
        name: version
        for name, version in packages.items()
        if isinstance(version, str) and _PACKAGE.fullmatch(name) and _VERSION.fullmatch(version)
    }


def _allowed(variables: Any) -> dict[str, str]:
    """The program wrote this list; the allow-list holds for it as well."""
    if not isinstance(variables, Mapping):
        return {}
    return {name: str(variables[name]) for name in VARIABLES if name in variables}


def _add_driver(inside: dict[str, Any], host: dict[str, Any]) -> None:
    """A container sees the GPU but not always its driver, which is the host's."""
    device, gpus = inside.get("device"), host.get("gpus")
    if isinstance(device, Mapping) and device.get("kind") == "cuda" and not device.get("driver") and gpus:
        inside["device"] = {**device, "driver": gpus[0].get("driver")}


def _without_paths(image: Mapping[str, Any]) -> dict[str, Any]:
    """Paths name one machine; digests name the environment everywhere."""
    facts = {name: image.get(name) for name in ("variant", "kind", "digest", "lock_digest", "base")}
    reference = image.get("reference")
    return {**facts, **({"reference": reference} if str(reference).startswith("sha256:") else {})}
