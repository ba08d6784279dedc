"""Sets of packages between two locks, solved by uv, and the releases that the package index has."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from packaging.version import InvalidVersion, Version

from reprokit.errors import ImageError, UsageError
from reprokit.feature import offered
from reprokit.features.bisect_packages.search import Packages, Wanted
from reprokit.images import wheels
from reprokit.images.cache import Progress
from reprokit.images.locks import Variant
from reprokit.images.packages import Target, packages_for, read_packages
from reprokit.images.subprocesses import run_command
from reprokit.layout import LOCK

_LISTED = re.compile(r"^Available versions: (.*)$")
_ABSENT = "No matching distribution found"


class Solver:
    """Locks and releases for one environment of a project, on this machine.

    Args:
        variant: The environment.
        machine: The kind of CPU.
        project: The folder that holds ``images/``.

    Raises:
        UsageError: Nothing that is installed here solves locks.
    """

    def __init__(self, variant: Variant, *, machine: str, project: Path, on_progress: Progress) -> None:
        made: Callable[..., str | None] | None = offered("lock_of_pins")
        if made is None:
            raise UsageError("nothing that is installed here solves locks")
        self._lock_of_pins = made
        self._variant = variant
        self._project = project
        self._on_progress = on_progress
        self._releases: dict[str, tuple[str, ...]] = {}
        self.target = Target(machine=machine, python=variant.python)

    def packages_of(self, text: str) -> Packages:
        """What a lock holds for this machine."""
        with tempfile.TemporaryDirectory(prefix="reprokit-lock-") as folder:
            file = Path(folder) / LOCK
            file.write_text(text, encoding="utf-8")
            found = packages_for(read_packages(file), self.target)
        return Packages(versions={one.name: one.version for one in found}, text=text)

    def lock_of(self, versions: Mapping[str, str]) -> str | None:
        """A lock of exactly these; None where there is none."""
        pins = [f"{name}=={version}" for name, version in sorted(versions.items())]
        return self._solved(pins, [], before="")

    def solve(self, wanted: Wanted, *, good: Packages, bad: Packages) -> Packages | None:
        """The packages of ``good``, with ``wanted`` and what must move with it; None where nothing fits."""
        requirements, constraints = requirements_between(wanted, good.versions, bad.versions)
        text = self._solved(requirements, constraints, before=good.text)
        return None if text is None else self.packages_of(text)

    def _solved(self, requirements: Sequence[str], constraints: Sequence[str], *, before: str) -> str | None:
        return self._lock_of_pins(
            self._variant.name, requirements, constraints=constraints, before=before, project=self._project
        )

    def releases(self, name: str, first: str | None, last: str | None) -> tuple[str, ...]:
        """The releases strictly between two, from the first on; none of a package that comes or goes.

        Raises:
            ImageError: The package index could not be reached.
        """
        if first is None or last is None or first == last:
            return ()
        if name not in self._releases:
            self._releases[name] = self._listed(name)
        low, high = sorted(Version(Version(one).public) for one in (first, last))
        between = [one for one in self._releases[name] if low < Version(one) < high]
        return tuple(sorted(between, key=Version, reverse=Version(first) > Version(last)))

    def _listed(self, name: str) -> tuple[str, ...]:
        tags = wheels.platform_tags(self.target.machine, glibc=self._variant.glibc)
        options = (
            f"--python-version={self.target.python}",
            "--only-binary=:all:",
            *(f"--platform={tag}" for tag in tags),
        )
        pip = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
        ended = run_command([*pip, "index", "versions", name, *options])
        lines = (match[1] for line in ended.tail if (match := _LISTED.match(line)))
        if ended.exit_code and _ABSENT not in "\n".join(ended.tail):
            raise ImageError(
                f"the releases of {name} could not be listed",
                actual=ended.last_lines,
                fix="check the network and pip's configuration (pip config list)",
            )
        return tuple(one.strip() for line in lines for one in line.split(",") if _is_version(one.strip()))


def requirements_between(
    wanted: Wanted, good: Mapping[str, str], bad: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """Requirements and constraints for the packages of ``good`` with ``wanted``.

    What is equal in both stays. What differs may move as far as the bad environment has it, where ``wanted``
    needs it; what only one of them has is there where it is wanted, or needed by another.
    """
    requirements, constraints = list[str](), list[str]()
    for name in sorted({*good, *bad, *wanted}):
        before, after = good.get(name), bad.get(name)
        if name in wanted:
            version = wanted[name]
            (constraints if version is None else requirements).append(f"{name}=={version or before}")
        elif before is None:
            constraints.append(f"{name}=={after}")
        elif after is None or before == after:
            requirements.append(f"{name}=={before}")
        else:
            low, high = sorted((before, after), key=Version)
            requirements.append(f"{name}>={_public(low)},<={_public(high)}")
    return requirements, constraints


def _public(version: str) -> str:
    """Without what stands behind the plus sign, which a range cannot have."""
    return Version(version).public


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
