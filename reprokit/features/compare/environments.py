"""The environment of a side whose packages or Python are not those of its tree."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reprokit.errors import UsageError
from reprokit.feature import offered
from reprokit.features.compare.asked import SideAsked
from reprokit.features.compare.trees import SideTree, environments_of
from reprokit.images.locks import read_lock
from reprokit.images.packages import read_packages
from reprokit.session import Session


@contextmanager
def with_environment(
    asked: SideAsked, variant: str, tree: SideTree, *, in_container: bool, session: Session
) -> Iterator[SideTree]:
    """The same tree with the environment that a side asks for; the tree's own is not changed.

    Raises:
        UsageError: There is no such file or environment, or nothing here solves locks.
        ImageError: There is no solution.
    """
    with environments_of(tree) as there:
        chosen = read_lock(there.project.root).variant(variant)
        if asked.lock:
            _must_be_lock(Path(asked.lock))
            shutil.copyfile(asked.lock, chosen.packages_path)
        if asked.packages or asked.python:
            lock_with = offered("lock_with")
            if lock_with is None:
                raise UsageError(
                    "nothing that is installed here solves locks", fix="name a lock: --b-lock FILE"
                )
            moved = lock_with(
                variant,
                asked.packages,
                python=asked.python,
                in_container=in_container,
                project=there.project.root,
                on_progress=session.progress.note,
            )
            for line in moved:
                session.progress.note(line)
        yield there


def _must_be_lock(file: Path) -> None:
    if not file.is_file():
        raise UsageError("there is no such lock", where=str(file))
    if not read_packages(file):
        raise UsageError("the lock holds no package", where=str(file))
