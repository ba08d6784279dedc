"""Which file of the working tree a side lacks that did not run: git ignores it, so no clean tree has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from reprokit import runs

#: A path of which an error speaks, from the top of a clean work tree on (``git_history.worktree``).
_IN_CLEAN_TREE = re.compile(r"/reprokit-tree-[^/'\"\s]+/tree/([^'\"\n:]+)")


def lacked_files(made: Mapping[str, Sequence[Path]], working_tree: str) -> dict[str, str]:
    """Side → the file that its first failed run names and the working tree has.

    Args:
        made: The runs of each side.
        working_tree: Where the working tree is; "" where no side is a commit.
    """
    found: dict[str, str] = {}
    for side, folders in made.items() if working_tree else ():
        for path in _named(folders):
            parts = PurePosixPath(path).parts
            below = (PurePosixPath(*parts[at:]) for at in range(len(parts)))  # the project may lie deeper
            there = next((str(one) for one in below if (Path(working_tree) / one).exists()), None)
            if there is not None:
                found.setdefault(side, there)
    return found


def _named(folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        if folder.exists():
            record = runs.read(folder, verify=False).record
            if not record.completed:
                yield from _IN_CLEAN_TREE.findall(record.message)
