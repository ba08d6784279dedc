"""What is removed from the cache, and what stays: by use, and by whether this project needs it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from reprokit.errors import EngineError
from reprokit.images import housekeeping, resolve
from reprokit.images.installed_files import MARKER
from support.rewound import Rewound

DAY = 86_400


@pytest.fixture(autouse=True)
def no_engine(monkeypatch):
    @contextlib.contextmanager
    def connected(**_options):
        raise EngineError("none answers")
        yield

    monkeypatch.setattr(housekeeping.image_store, "connected", connected)


@pytest.fixture(scope="module")
def once(shared_small_project) -> Rewound:
    """A project whose cache has its environment and wheels, and those of an earlier lock."""
    small = shared_small_project
    options = {"kind": "venv", "cache_dir": small.cache, "on_progress": print}
    before = small.lock.read_text()
    small.lock.write_text(small.add_wheel("earlier"))
    resolve("cpu", project=small.root, **options)
    small.lock.write_text(before)
    resolve("cpu", project=small.root, **options)
    return Rewound.keep(small.root.parent)


@pytest.fixture
def small_project(once, shared_small_project):
    once.rewind()
    return shared_small_project


@pytest.fixture
def cache(small_project) -> Path:
    return small_project.cache


def used(path: Path) -> float:
    return max((path / MARKER if (path / MARKER).exists() else path).stat().st_mtime, path.stat().st_mtime)


def planned(small_project, cache, *, days: float, later: float = 0.0, act=housekeeping.plan):
    now = max(used(path) for part in ("venvs", "wheels") for path in (cache / part).glob("[!.]*")) + later
    return act(small_project.root, older_than_days=days, cache=cache, now=now)


def test_what_the_project_uses_stays_however_old_and_the_rest_goes(small_project, cache):
    found = planned(small_project, cache, days=30, later=40 * DAY, act=housekeeping.prune)
    assert sorted(one.kind for one in found.going) == ["venv", "wheels"]
    assert {because for _, because in found.kept} == {"this project uses it"}
    assert not any(Path(one.reference).exists() for one in found.going)
    assert all(Path(one.reference).exists() for one, _ in found.kept)
    resolve("cpu", project=small_project.root, kind="venv", cache_dir=cache, on_progress=pytest.fail)


def test_what_was_used_lately_stays_because_it_may_be_another_projects(small_project, cache):
    found = planned(small_project, cache, days=30, later=20 * DAY)
    assert found.going == ()
    assert {because for _, because in found.kept} == {"this project uses it", "used in the last 30 days"}


def test_listing_removes_nothing(small_project, cache):
    found = planned(small_project, cache, days=0, later=DAY)
    assert len(found.going) == 2
    assert all(Path(one.reference).exists() for one in found.going)


def test_using_an_environment_makes_it_young_again(small_project, cache):
    venvs = sorted((cache / "venvs").glob("*/"))
    for path in (*venvs, *(one / MARKER for one in venvs)):
        os.utime(path, (1, 1))
    found = resolve("cpu", project=small_project.root, kind="venv", cache_dir=cache, on_progress=print)
    assert (Path(found.reference) / MARKER).stat().st_mtime > DAY


def test_sizes_are_those_on_disk(cache):
    sizes = housekeeping.sizes(cache)
    assert sizes["venvs"] > sizes["wheels"] > 0
    assert sizes["debs"] == 0


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (("reprokit/cpu:0123456789abcdef",), True),
        (("mine:latest",), False),
        (("reprokit/cpu:0123456789abcdef", "mine:latest"), False),
        ((), False),
    ],
)
def test_an_image_that_a_person_built_on_top_or_named_is_never_removed(tags, expected):
    labels = {
        housekeeping.image_store.CONTENT: "sha256:0123456789abcdef0123",
        housekeeping.image_store.VARIANT: "cpu",
    }
    image = housekeeping.image_store.StoredImage(id="i", tags=tags, labels=labels, size_bytes=1, created=0)
    assert housekeeping._is_made_here(image, housekeeping.image_store.CONTENT) is expected
