"""The data sets that a recipe declares, checked inside the environment that trains.

>>> checked([("levels.json", "sha256:9f2c…", "/run/levels.json")])["levels.json"]
PosixPath('/run/levels.json')

An archive that is unpacked is a folder, with a digest of its own; each file in it is there by its path, too:

>>> checked([("images", "folder:sha256:51d0…", "/run/images")])["images/7/a.png"]
PosixPath('/run/images/7/a.png')
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from reprokit import file_tree
from reprokit.errors import CannotRunError

_BLOCK_BYTES = 1 << 20


def checked(declared: Iterable[tuple[str, str, str]]) -> dict[str, Path]:
    """Name → file or folder, each with the digest that the recipe declares; ``name/path`` → file of a folder.

    Args:
        declared: Name, digest (``sha256:<64 hex digits>``, or that of a folder) and path of each.

    Raises:
        CannotRunError: Something is missing, or is not what was declared.
    """
    found: dict[str, Path] = {}
    for name, sha256, path in declared:
        is_folder = sha256.startswith(file_tree.FOLDER)
        try:
            actual = file_tree.digest_of(Path(path)) if is_folder else _digest_of(Path(path))
        except OSError as error:
            raise CannotRunError(f"the data {name} cannot be read: {error.strerror}", where=path) from error
        if actual != sha256:
            what = "a folder of other files" if is_folder else "another file"
            fix = "put the declared data back, or declare this one under `data` in recipe.yaml"
            raise CannotRunError(
                f"the data {name} is {what}", where=path, expected=sha256, actual=actual, fix=fix
            )
        found[name] = Path(path)
        if is_folder:
            files = (entry.name for entry in file_tree.walk(Path(path)) if entry.kind is file_tree.Kind.FILE)
            found.update((f"{name}/{file}", Path(path) / file) for file in files)
    return found


def _digest_of(path: Path) -> str:
    sha256 = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            sha256.update(block)
    return f"sha256:{sha256.hexdigest()}"
