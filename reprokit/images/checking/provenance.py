"""How an image was built: an in-toto statement with SLSA's build provenance.

It names inputs by digest and gives no address, so equal inputs give equal bytes on every machine.

Source: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md and
https://slsa.dev/spec/v1.0/provenance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from reprokit import __version__
from reprokit.images.checking.sbom import ImageSubject
from reprokit.layout import SBOM

BUILD_TYPE = "https://reprokit.dev/image-build/v1"
BUILDER = "https://reprokit.dev/builder"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildInputs:
    """The inputs of a build."""

    variant: str
    machine: str  # `x86_64` or `aarch64`
    python: str  # minor version that the lock is for
    base: str  # as in the image's label: `name:tag@sha256:…` or `bootstrap:sha256:…`
    epoch: int  # seconds since 1970 that times are clamped to
    files: Mapping[str, str]  # name in the project → `sha256:…`
    wheels: Mapping[str, str]  # `name==version` → `sha256:…` of the wheel
    bill: str  # `sha256:…` of the bill of materials


def statement(subject: ImageSubject, build: BuildInputs) -> dict[str, Any]:
    """The statement as plain JSON; the subject's digest is the image ID."""
    return {
        "_type": STATEMENT,
        "subject": [{"name": subject.name, "digest": _digest(subject.id)}],
        "predicateType": PREDICATE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"variant": build.variant, "base": build.base},
                "internalParameters": {
                    "content": subject.content,
                    "machine": build.machine,
                    "network": "none",
                    "python": build.python,
                    "sourceDateEpoch": build.epoch,
                },
                "resolvedDependencies": list(_materials(build)),
            },
            "runDetails": {
                "builder": {"id": BUILDER, "version": {"reprokit": __version__}},
                "byproducts": [{"name": SBOM, "digest": _digest(build.bill)}],
            },
        },
    }


def _materials(build: BuildInputs) -> Iterator[dict[str, Any]]:
    name, _, base = build.base.rpartition("sha256:")
    yield {"name": name.rstrip("@:") or "base", "digest": _digest(base)}
    for path, digest in sorted(build.files.items()):
        yield {"name": path, "digest": _digest(digest)}
    for pin, digest in sorted(build.wheels.items()):
        package, _, version = pin.partition("==")
        uri = f"pkg:pypi/{quote(package)}@{quote(version, safe=':~')}"
        yield {"name": pin, "uri": uri, "digest": _digest(digest)}


def _digest(value: str) -> dict[str, str]:
    return {"sha256": value.removeprefix("sha256:")}
