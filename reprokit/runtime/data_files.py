"""The data sets that a recipe declares, checked inside the environment that trains.

>>> checked([("levels.json", "sha256:9f2c…", "/run/levels.json")])["levels.json"]
PosixPath('/run/levels.json')
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from reprokit.errors import CannotRunError

_BLOCK_BYTES = 1 << 20


def checked(declared: Iterable[tuple[str, str, str]]) -> dict[str, Path]:
    """Name → file, every file with the digest that the recipe declares.

    Args:
        declared: Name, digest (``sha256:<64 hex digits>``) and path of each.

    Raises:
        CannotRunError: A file is missing, or is another one.
    """
    found: dict[str, Path] = {}
    for name, sha256, path in declared:
        try:
            actual = _digest_of(Path(path))
        except OSError as error:
            raise CannotRunError(f"the data {name} cannot be read: {error.strerror}", where=path) from error
        if actual != sha256:
            fix = "put the declared file back, or declare this one under `data` in recipe.yaml"
            raise CannotRunError(
                f"the data {name} is another file", where=path, expected=sha256, actual=actual, fix=fix
            )
        found[name] = Path(path)
    return found


def _digest_of(path: Path) -> str:
    sha256 = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK_BYTES):
            sha256.update(block)
    return f"sha256:{sha256.hexdigest()}"
