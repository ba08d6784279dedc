"""Package locks: exact versions with the hashes of every file that may be installed.

>>> [package.pin for package in read_packages(Path("images/cpu/requirements.lock"))][:2]
['cloudpickle==3.1.2', 'farama-notifications==0.0.6']
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reprokit import extras
from reprokit.core.records import digest_bytes
from reprokit.errors import ImageError
from reprokit.regular_file import read_regular

if TYPE_CHECKING:
    from packaging.markers import Marker

_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})(?=\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where packages will run: a Linux machine with glibc, and a Python."""

    machine: str  # `x86_64` or `aarch64`
    python: str  # major and minor version, `3.11`; `3.14t` for a build without the GIL

    @property
    def version(self) -> str:
        """The version of its Python without the mark of the build, as markers and resolvers know it."""
        return self.python.rstrip("t")

    @property
    def abi(self) -> str:
        """What wheels with compiled code for it are marked with: ``cp311``, ``cp314t``."""
        return f"cp{self.python.replace('.', '')}"

    @property
    def markers(self) -> dict[str, str]:
        """What environment markers mean there (PEP 508), whatever the machine that asks."""
        return {
            "implementation_name": "cpython",
            "implementation_version": f"{self.version}.0",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_release": "",
            "platform_system": "Linux",
            "platform_version": "",
            "python_full_version": f"{self.version}.0",
            "python_version": self.version,
            "sys_platform": "linux",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One line of a package lock."""

    name: str  # normalised name
    version: str  # exact version
    marker: Marker | None  # where it is needed, or None for everywhere
    hashes: tuple[str, ...]  # `sha256:…` of each file that may be installed, as in the lock

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"


def read_packages(path: Path) -> tuple[Package, ...]:
    """Read a package lock: every line pinned with ``==``, every pin with hashes, no addresses.

    Raises:
        ImageError: The file is missing, or a line is anything else.
        MissingExtraError: The package packaging is not installed.
    """
    return tuple(_package(text, where=f"{path}:{number}") for number, text in logical_lines(read_text(path)))


def packages_for(packages: Sequence[Package], target: Target) -> tuple[Package, ...]:
    """The packages that a target needs, in the lock's order."""
    return tuple(p for p in packages if p.marker is None or p.marker.evaluate(dict(target.markers)))


def requirements_text(packages: Sequence[Package]) -> str:
    """Packages as a requirements file without markers: an installer has nothing left to decide."""
    return "".join(f"{p.pin}{''.join(f' --hash={hash_}' for hash_ in p.hashes)}\n" for p in packages)


def digest_of(path: Path) -> str:
    """SHA-256 of a file of a project, ``sha256:…``.

    Raises:
        ImageError: The file is missing or unreadable.
    """
    return digest_bytes(_bytes(path))


def read_text(path: Path) -> str:
    """A text file of a project.

    Raises:
        ImageError: The file is missing, unreadable or not UTF-8.
    """
    try:
        return _bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImageError("not UTF-8 text", where=str(path), fix="restore the file from git") from error


def normalised(name: str) -> str:
    """A package's name in the one form that all spellings share: ``Scikit_Learn`` → ``scikit-learn``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines with their continuations joined and comments dropped, each with its first line's number."""
    lines: list[tuple[int, str]] = []
    joining = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        part = line.removesuffix("\\").strip()
        if joining and lines:
            lines[-1] = (lines[-1][0], f"{lines[-1][1]} {part}".strip())
        elif part:
            lines.append((number, part))
        joining = line.endswith("\\")
    return lines


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise ImageError(
            f"cannot read: {error.strerror}",
            where=str(path),
            fix="run this in a checkout that has images/ (git status shows what is missing)",
        ) from error


def _package(text: str, *, where: str) -> Package:
    extras.must_have("packaging")
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415  (an extra)

    requirement_text, _, rest = text.partition("--hash=")
    requirement_text = requirement_text.strip()
    try:
        requirement = Requirement(requirement_text)
    except InvalidRequirement as error:
        raise ImageError(
            "not a pinned package",
            where=where,
            expected="name==version with hashes; no options, no addresses",
            actual=repr(requirement_text),
            fix="solve the lock again: reprokit image lock VARIANT",
        ) from error
    hashes = tuple(_HASH.findall(text))
    specifiers = list(requirement.specifier)
    pinned = len(specifiers) == 1 and specifiers[0].operator == "==" and "*" not in specifiers[0].version
    if not pinned or requirement.url or not hashes or _HASH.sub("", f"--hash={rest}").strip():
        raise ImageError(
            "a package is not pinned with its hashes",
            where=where,
            expected="name==version --hash=sha256:<64 hex digits>",
            actual=repr(text[:120]),
            fix="solve the lock again: reprokit image lock VARIANT",
        )
    name = normalised(requirement.name)
    return Package(name=name, version=specifiers[0].version, marker=requirement.marker, hashes=hashes)
