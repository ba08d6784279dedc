"""Goldens that were written while programs ran are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reprokit.errors import GoldenError
from reprokit.golden import must_be_unchanged, states


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "metrics.jsonl").write_text("1")
    place = tmp_path / "golden" / "train" / "cpu-x86_64"
    place.mkdir(parents=True)
    (place / "seed-1").mkdir()
    (place / "seed-1" / "metrics.jsonl").write_text("1")
    (place / "seed-2").symlink_to(tmp_path / "elsewhere")
    (place / "around").symlink_to(tmp_path / "golden")
    return tmp_path / "golden"


def test_goldens_that_nothing_wrote_to_are_compared_with(folder):
    must_be_unchanged(folder, states(folder))
    must_be_unchanged(folder / "none", states(folder / "none"))


def written_with_its_old_time(file: Path) -> None:
    was = file.stat()
    file.write_text("2")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


@pytest.mark.parametrize("seed", ["seed-1", "seed-2"], ids=["a folder", "behind a link"])
@pytest.mark.parametrize(
    "change",
    [written_with_its_old_time, Path.unlink, lambda file: (file.parent / "provenance.json").write_text("{}")],
    ids=["written", "removed", "added"],
)
def test_goldens_that_were_written_are_refused(folder, seed, change):
    before = states(folder)
    change(folder / "train" / "cpu-x86_64" / seed / "metrics.jsonl")
    with pytest.raises(GoldenError, match="while runs were under way"):
        must_be_unchanged(folder, before)


def test_a_golden_that_appears_where_none_was_is_refused(tmp_path):
    before = states(tmp_path / "golden")
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "metrics.jsonl").write_text("1")
    with pytest.raises(GoldenError, match="while runs were under way"):
        must_be_unchanged(tmp_path / "golden", before)
