"""Wheels that no package index has, kept next to a lock: the repository's, built ones, editable projects.

An editable project is a wheel of its metadata and scripts only; its modules are imported from the repository.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.utils import parse_wheel_filename

from reprokit.errors import ImageError
from reprokit.features.locking.project_file import Editable
from reprokit.features.locking.source_builds import build_wheel, check_archive
from reprokit.images.cache import Progress
from reprokit.images.packages import normalised

_EPOCH = (2020, 1, 1, 0, 0, 0)


def fill(
    folder: Path,
    wheels: Sequence[Path],
    editables: Sequence[Editable],
    *,
    build: Sequence[str],
    python: str,
    allowed: Mapping[str, set[str]],
    built: Path,
    on_progress: Progress,
) -> None:
    """Make the folder hold exactly these; a built wheel that is there is kept, and not built again.

    Args:
        folder: Next to the lock; removed where nothing belongs in it.
        wheels: Files of the repository.
        editables: Projects of the repository.
        build: ``name==version`` of packages that are distributed as source only.
        python: The environment's Python, which builds them.
        allowed: Package → the hashes that its archive may have, where the project's file has some.
        built: Where what is built stays, for another call that asks for more.
        on_progress: Called with a line for each that is built.

    Raises:
        ImageError: A wheel cannot be built, is of another archive than the project's file allows, or is for
            one kind of machine only.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-local-") as name:
        fresh = Path(name)
        for wheel in wheels:
            shutil.copyfile(wheel, fresh / wheel.name)
        for editable in editables:
            _write_editable(fresh, editable)
        for requirement in build:
            wheel = _kept(requirement, folder, python=python, allowed=allowed) or _built(
                requirement, built, python=python, allowed=allowed, on_progress=on_progress
            )
            shutil.copyfile(wheel, fresh / wheel.name)
        shutil.rmtree(folder, ignore_errors=True)
        if any(fresh.iterdir()):
            shutil.copytree(fresh, folder)


def _write_editable(folder: Path, one: Editable) -> None:
    """Equal content, equal bytes: the lock holds its hash."""
    name = one.name.replace("-", "_")
    info = f"{name}-{one.version}.dist-info"
    scripts = "".join(f"{key} = {value}\n" for key, value in sorted(one.scripts.items()))
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {one.name}\nVersion: {one.version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **({f"{info}/entry_points.txt": f"[console_scripts]\n{scripts}"} if scripts else {}),
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-{one.version}-py3-none-any.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(zipfile.ZipInfo(path, _EPOCH), content)


def _kept(requirement: str, folder: Path, *, python: str, allowed: Mapping[str, set[str]]) -> Path | None:
    """The wheel that was built before; its archive must be one that the project's file allows today."""
    name, wheel = _name_of(requirement), _wheel_of(requirement, folder)
    if wheel is not None:
        check_archive(requirement, python=python, allowed=allowed.get(name, set()))
    return wheel


def _built(
    requirement: str, folder: Path, *, python: str, allowed: Mapping[str, set[str]], on_progress: Progress
) -> Path:
    if (wheel := _wheel_of(requirement, folder)) is not None:
        return wheel
    hashes = allowed.get(_name_of(requirement), set())
    return build_wheel(requirement, folder, python=python, allowed=hashes, on_progress=on_progress)


def _wheel_of(requirement: str, folder: Path) -> Path | None:
    version = requirement.partition("==")[2]
    if not version:
        what = "a package to build needs its version"
        expected = f"{requirement}==VERSION"
        raise ImageError(what, where="--build", expected=expected, actual=requirement)
    found = ((wheel, parse_wheel_filename(wheel.name)) for wheel in folder.glob("*.whl"))
    wanted = (_name_of(requirement), version)
    return next((wheel for wheel, one in found if (str(one[0]), str(one[1])) == wanted), None)


def _name_of(requirement: str) -> str:
    return normalised(requirement.partition("==")[0])
