"""Putting new folders of goldens in place of old ones: all of them, or none."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def replace_folders(pairs: Sequence[tuple[Path, Path]]) -> None:
    """Rename each new folder to its place; where one cannot be, all old ones are back as they were.

    Readers see an old golden or a new one. Only a kill between two renames leaves none; the old ones then
    stand next to (``.seed-7.before``), and in git.

    Args:
        pairs: The new folder and its place, on one file system.

    Raises:
        OSError: One of them could not be renamed.
    """
    done: list[tuple[Path, Path, bool]] = []
    try:
        for fresh, place in pairs:
            before = place.with_name(f".{place.name}.before")
            shutil.rmtree(before, ignore_errors=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            done.append((place, before, place.exists()))
            if place.exists():
                place.rename(before)
            fresh.rename(place)
    except BaseException:  # Ctrl-C too
        for place, before, was_there in reversed(done):
            if before.exists() or not was_there:
                shutil.rmtree(place, ignore_errors=True)
            if before.exists():
                with suppress(OSError):  # the others are put back all the same
                    before.rename(place)
        raise
    for _, before, _ in done:
        shutil.rmtree(before, ignore_errors=True)
