"""Wheels that no package index has, kept next to a lock: the repository's, built ones, editable projects.

An editable project is a wheel of its metadata and scripts only; its modules are imported from the repository.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import parse_wheel_filename

from reprokit.errors import ImageError
from reprokit.features.locking.project_file import Editable
from reprokit.features.locking.source_builds import build_wheel
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
    on_progress: Progress,
) -> None:
    """Make the folder hold exactly these; a built wheel that is there is kept, and not built again.

    Args:
        folder: Next to the lock; removed where nothing belongs in it.
        wheels: Files of the repository.
        editables: Projects of the repository.
        build: ``name==version`` of packages that are distributed as source only.
        python: The environment's Python, which builds them.
        on_progress: Called with a line for each that is built.

    Raises:
        ImageError: A wheel cannot be built, or is for one kind of machine only.
    """
    with tempfile.TemporaryDirectory(prefix="reprokit-local-") as name:
        fresh = Path(name)
        for wheel in wheels:
            shutil.copyfile(wheel, fresh / wheel.name)
        for editable in editables:
            _write_editable(fresh, editable)
        for requirement in build:
            _build(requirement, fresh, python=python, before=folder, on_progress=on_progress)
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


def _build(requirement: str, folder: Path, *, python: str, before: Path, on_progress: Progress) -> None:
    name, _, version = requirement.partition("==")
    if not version:
        what = "a package to build needs its version"
        raise ImageError(what, where="--build", expected=f"{name}==VERSION", actual=requirement)
    for wheel in before.glob("*.whl"):
        identity = parse_wheel_filename(wheel.name)
        if (str(identity[0]), str(identity[1])) == (normalised(name), version):
            shutil.copyfile(wheel, folder / wheel.name)
            return
    build_wheel(requirement, folder, python=python, on_progress=on_progress)
