"""The bill of materials of an image: CycloneDX 1.6, with a purl and hashes for every package.

It names no package index, which differs from one network to the next; equal images give equal bytes.

Source: https://cyclonedx.org/docs/1.6/json/ and https://github.com/package-url/purl-spec.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from reprokit import __version__
from reprokit.core.records import canonical_json
from reprokit.images.checking.image_contents import Contents, PythonPackage, SystemPackage

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://reprokit.dev/image")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSubject:
    """The image that a statement is about."""

    name: str  # `reprokit/cpu`
    version: str  # the first digits of the content's digest, as in the tag
    id: str  # image ID, `sha256:…`
    content: str  # digest of everything that went in
    created: str  # the date that the image claims, ISO 8601


def bill(
    subject: ImageSubject, contents: Contents, *, wheels: Mapping[str, str], debs: Mapping[str, str]
) -> dict[str, Any]:
    """The bill of materials as plain JSON.

    ``wheels``: normalised package → ``sha256:…`` of its wheel. ``debs``: ``name=version:architecture`` →
    ``sha256:…`` of the package file, as far as known.
    """
    components = [*_system(contents, debs), *_python(contents, wheels)]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, canonical_json([subject.id, components]))}",
        "version": 1,
        "metadata": {
            "timestamp": subject.created,
            "tools": {"components": [{"type": "application", "name": "reprokit", "version": __version__}]},
            "component": {
                "type": "container",
                "bom-ref": subject.id,
                "name": subject.name,
                "version": subject.version,
                "properties": [
                    {"name": "dev.reprokit.content", "value": subject.content},
                    {"name": "dev.reprokit.image-id", "value": subject.id},
                ],
            },
        },
        "components": components,
        "dependencies": [
            {"ref": subject.id, "dependsOn": [component["bom-ref"] for component in components]}
        ],
    }


def _system(contents: Contents, debs: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    release = f"{contents.distribution}-{contents.release}"
    system = {"name": contents.distribution, "version": contents.release}
    yield {"type": "operating-system", "bom-ref": f"os:{release}", **system}
    for package in contents.system.values():
        name, version = quote(package.name, safe="~"), quote(package.version, safe=":~")
        where = f"arch={package.architecture}&distro={release}"
        purl = f"pkg:deb/{contents.distribution}/{name}@{version}?{where}"
        known = debs.get(f"{package.name}={package.version}:{package.architecture}")
        yield {**_component(purl, package), **_hashes(known)}
    if "python3" not in {package.name for package in contents.system.values()}:
        purl = f"pkg:generic/python@{quote(contents.interpreter)}"
        named = {"name": "python", "version": contents.interpreter, "purl": purl}
        yield {"type": "platform", "bom-ref": purl, **named}


def _python(contents: Contents, wheels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for package in contents.python.values():
        purl = f"pkg:pypi/{quote(package.name)}@{quote(package.version, safe=':~')}"
        yield {**_component(purl, package), **_hashes(wheels.get(package.name)), **_license(package)}


def _component(purl: str, package: PythonPackage | SystemPackage) -> dict[str, Any]:
    named = {"name": package.name, "version": package.version, "purl": purl}
    return {"type": "library", "bom-ref": purl, **named}


def _hashes(digest: str | None) -> dict[str, Any]:
    return {"hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]} if digest else {}


def _license(package: PythonPackage) -> dict[str, Any]:
    if package.expression:
        return {"licenses": [{"expression": package.expression}]}
    return {"licenses": [{"license": {"name": package.license}}]} if package.license else {}
