"""Lists what is installed in an image, by asking it in a container with no network and no rights.

>>> look_inside(client, "sha256:8f0d…", python="/opt/reprokit/bin/python").python["numpy"].version
'2.4.6'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from docker import DockerClient
from docker.types import Ulimit

from reprokit import docker_sdk
from reprokit.errors import ImageError

_NOBODY = "65532:65532"
_MOST_LICENSE = 64
# Named, because Podman asks for more than a user without rights is given, and then starts nothing.
_LIMITS = (("nofile", 1024), ("nproc", 4096))

# Runs in the image's own Python, hence one text; what is printed is parsed and checked here.
_ASK = """
import importlib.metadata, json, pathlib, platform
found = []
for one in importlib.metadata.distributions():
    data = one.metadata
    found.append({"name": data["Name"], "version": one.version,
                  "license": data.get("License-Expression") or "", "words": data.get("License") or ""})
status = pathlib.Path("/var/lib/dpkg/status")
print(json.dumps({
    "python": found,
    "dpkg": status.read_text(errors="replace") if status.is_file() else "",
    "os": platform.freedesktop_os_release(),
    "interpreter": platform.python_version(),
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPackage:
    """An installed Python package: its normalised name, and its licence where it is stated."""

    name: str
    version: str
    expression: str  # the licence as an SPDX expression, or ""
    license: str  # the licence in a few words, or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPackage:
    """An installed package of the distribution; ``architecture`` as the distribution spells it."""

    name: str
    version: str
    architecture: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What was found in an image."""

    python: Mapping[str, PythonPackage]  # normalised name → package
    system: Mapping[str, SystemPackage]  # name and architecture, as `name:architecture` → package
    distribution: str  # `debian`: ID in os-release
    release: str  # `12`: VERSION_ID in os-release
    interpreter: str  # full version of its Python


def look_inside(client: DockerClient, image: str, *, python: str) -> Contents:
    """List what is installed in the image of an ID; ``python`` is the interpreter's path in it.

    Raises:
        ImageError: It cannot be started, or does not print a list of packages.
    """
    try:
        printed = client.containers.run(
            image,
            [python, "-I", "-c", _ASK],
            remove=True,
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            user=_NOBODY,
            pids_limit=64,
            mem_limit="1g",
            ulimits=[Ulimit(name=name, soft=n, hard=n) for name, n in _LIMITS],
        )
        return _contents(json.loads(printed))
    except docker_sdk.SDK_ERRORS as error:
        if docker_sdk.fault_of(error) is not docker_sdk.DockerFault.PROGRAM_FAILED:
            raise
        words = docker_sdk.words_of(error)[-500:]
        raise ImageError("the packages in the image cannot be listed", where=image, actual=words) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ImageError(f"the image's list of packages cannot be read: {error}", where=image) from error


def installed(status: str) -> Iterator[SystemPackage]:
    """The installed packages of a ``/var/lib/dpkg/status``, in its order."""
    for stanza in status.split("\n\n"):
        fields: dict[str, str] = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, flags=re.MULTILINE))
        if fields.get("Status", "").endswith(" installed"):
            yield SystemPackage(
                name=fields["Package"],
                version=fields["Version"],
                architecture=fields["Architecture"],
                source=fields.get("Source", fields["Package"]).split(" ")[0],
            )


def _contents(answer: Mapping[str, Any]) -> Contents:
    python = sorted((_python(one) for one in answer["python"]), key=lambda one: one.name)
    system = sorted(installed(answer["dpkg"]), key=lambda one: (one.name, one.architecture))
    return Contents(
        python={one.name: one for one in python},
        system={f"{one.name}:{one.architecture}": one for one in system},
        distribution=str(answer["os"].get("ID", "linux")),
        release=str(answer["os"].get("VERSION_ID", "")),
        interpreter=str(answer["interpreter"]),
    )


def _python(found: Mapping[str, str]) -> PythonPackage:
    words = " ".join(found["words"].split())
    return PythonPackage(
        name=re.sub(r"[-_.]+", "-", found["name"]).lower(),
        version=found["version"],
        expression=found["license"],
        license=words if len(words) <= _MOST_LICENSE else "",
    )
