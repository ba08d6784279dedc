"""Files of git-lfs in a work tree that git made without filters: pointers, and the contents that they name.

No program is started and nothing is fetched: a content is copied from where git-lfs keeps it in this clone.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from reprokit.regular_file import open_regular

POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\nsize (\d+)\n"
)
#: How git lists the files that git-lfs has been told to keep.
KEPT = ":(top,attr:filter=lfs)"
_LONGEST = 1024  # of a pointer, as git-lfs has it


def put_contents(tree: Path, names: Iterable[str], *, common_dir: Path) -> tuple[str, ...]:
    """Put the contents in place of their pointers; the names of those that this clone does not have.

    Args:
        tree: The top of the work tree.
        names: The files that may be pointers; one that is not there is none.
        common_dir: What the work trees of the repository share.
    """
    missing = []
    for name in names:
        path = tree / name
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LONGEST:
            continue
        pointer = POINTER.fullmatch(path.read_bytes())
        if pointer is None:
            continue
        oid = pointer[1].decode()
        content = common_dir / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
        if content.is_file() and _sha256_of(content) == oid:
            shutil.copyfile(content, path)
        else:
            missing.append(name)
    return tuple(missing)


def _sha256_of(content: Path) -> str:
    with open_regular(content) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
