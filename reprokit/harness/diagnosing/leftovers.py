"""Files that runs leave outside their folders: restored to before the first run, or to another seed's run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reprokit.diagnosis import HookTrace, OutsideFile


class Leftovers:
    """Files outside the runs' folders, as before the first run and as a run with another seed left them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.before: dict[str, OutsideFile] = {}
        self.another: dict[str, OutsideFile] | None = None

    def note(self, trace: HookTrace) -> None:
        for path, one in trace.files.items():
            if one.written is not None:
                self.before.setdefault(path, one)

    def restore(self) -> None:
        """Put everything back as it was before the first run."""
        restore(self.before)

    def keep(self) -> None:
        """Remember what is there now: a run with another seed has left it."""
        self._folder.mkdir()
        self.another = {
            path: self._copied(one, self._folder / str(number))
            for number, (path, one) in enumerate(self.before.items())
        }

    def forget(self) -> None:
        self.another = None
        self.restore()

    def put(self) -> None:
        """Put back what the run with another seed left, where there was one."""
        if self.another is None:
            return
        for one in self.another.values():
            if one.existed:
                (Path(one.path) if one.folder else Path(one.path).parent).mkdir(parents=True, exist_ok=True)
        restore(self.another)

    def _copied(self, one: OutsideFile, kept: Path) -> OutsideFile:
        path = Path(one.path)
        if path.is_file():
            shutil.copy2(path, kept)
            return replace(one, existed=True, folder=False, kept=str(kept))
        return replace(one, existed=path.exists(), folder=path.is_dir(), kept=None)


def restore(left: Mapping[str, OutsideFile]) -> None:
    """Put files back as they were: contents, or absence. Folders go once empty."""
    for one in sorted(left.values(), key=lambda found: -len(found.path)):
        path = Path(one.path)
        if one.kept is not None:
            shutil.copy2(one.kept, path)
        elif not one.existed and path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif not one.existed:
            path.unlink(missing_ok=True)
