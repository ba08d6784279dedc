"""What a search adds to the cache stays below a limit, and what was there before stays."""

from __future__ import annotations

import pytest

from reprokit.core.records import Realisation
from reprokit.errors import CannotRunError
from reprokit.features.bisect_packages.room import Room
from reprokit.images.locks import read_lock
from reprokit.images.packages import Target
from support.recorded_progress import RecordedProgress

ONE = 100 << 10


@pytest.fixture
def made(small_project):
    """Adds an environment of a hundred KiB to the cache and to the room."""
    small_project.cache.mkdir()
    variant = read_lock(small_project.root).variant("cpu")
    target = Target(machine="x86_64", python=variant.python)

    def make(room: Room | None, name: str, *, is_end: bool = False):
        folder = small_project.cache / "venvs" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_bytes(b"x" * ONE)
        realisation = Realisation(
            variant="cpu", kind="venv", reference=str(folder), digest="", python="", lock_digest="", base=None
        )
        if room is not None:
            room.add(realisation, variant, target, is_end=is_end)
        return folder

    return make


@pytest.fixture
def room(small_project):
    return lambda times: Room(
        cache=small_project.cache, most_bytes=int(times * ONE), progress=RecordedProgress()
    )


def test_the_oldest_that_is_no_end_goes_first(made, room):
    here = room(3.5)
    end = made(here, "end", is_end=True)
    first, second = made(here, "first"), made(here, "second")
    here.make_room()
    assert [folder.exists() for folder in (end, first, second)] == [True, False, True]
    assert here.used_bytes <= here.most_bytes


def test_what_was_there_before_the_search_is_never_removed(made, room):
    before = made(None, "before")
    here = room(1.5)
    made(here, "before")
    first = made(here, "first")
    here.make_room()
    assert (before.exists(), first.exists()) == (True, False)


def test_a_limit_below_the_ends_and_one_more_is_said(made, room):
    here = room(2.5)
    made(here, "good", is_end=True)
    made(here, "bad", is_end=True)
    with pytest.raises(CannotRunError, match="do not fit"):
        here.make_room()


def test_one_that_was_removed_and_is_made_again_counts_again(made, room):
    here = room(1.5)
    made(here, "first")
    here.make_room()
    made(here, "first")
    assert here.used_bytes >= ONE
