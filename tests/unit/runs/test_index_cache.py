"""Facts remembered: never older than the files, whatever happens to the cache."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from reprokit.runs.index_cache import facts_of

FAR = 10_000_000_000


class Shelf:
    """Some files, and how often each was read."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        self.cache = folder / ".index.json"
        self.files = {f"key{at}": folder / f"file{at}" for at in range(count)}
        self.reads: list[str] = []
        for name, path in self.files.items():
            path.write_text(name)

    def look(self, *, version: int = 1, now_ns: int | None = None, lasting: bool = True) -> dict:
        def read(key: str) -> tuple[dict, bool]:
            self.reads.append(key)
            return {"text": self.files[key].read_text()}, lasting

        self.reads.clear()
        sources = {key: (str(path),) for key, path in self.files.items()}
        now_ns = time.time_ns() + FAR if now_ns is None else now_ns
        return facts_of(sources, read=read, cache=self.cache, version=version, now_ns=now_ns)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    shelf.look()
    assert shelf.reads == ["key0", "key1", "key2"]
    return shelf


def test_what_has_not_changed_is_not_read_again(shelf):
    assert shelf.look() == {name: {"text": name} for name in shelf.files}
    assert shelf.reads == []


def test_what_has_changed_is_read_again_and_nothing_else(shelf):
    shelf.files["key1"].write_text("other")
    assert shelf.look()["key1"] == {"text": "other"}
    assert shelf.reads == ["key1"]


def test_a_change_of_the_same_size_and_modification_time_is_seen(shelf):
    before = shelf.files["key1"].stat()
    shelf.files["key1"].write_text("KEY1")
    os.utime(shelf.files["key1"], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert shelf.look()["key1"] == {"text": "KEY1"}


def test_what_is_gone_is_forgotten_and_what_is_new_is_read(shelf, tmp_path):
    shelf.files.pop("key0")
    shelf.files["key9"] = tmp_path / "file9"
    shelf.files["key9"].write_text("nine")
    assert list(shelf.look()) == ["key1", "key2", "key9"]
    assert shelf.reads == ["key9"]
    assert "key0" not in shelf.cache.read_text()


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"not json at all",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"text":"key1"', b'"text":"lies"'),
        lambda data: b"[" * 100_000,
        lambda data: b"\xff\xfe" + data,
        lambda data: data.partition(b"\n")[2],
    ],
    ids=["empty", "no json", "torn", "altered", "nested", "not utf-8", "no head"],
)
def test_a_damaged_cache_is_rebuilt_and_never_believed(shelf, damage):
    whole = shelf.cache.read_bytes()
    shelf.cache.write_bytes(damage(whole))
    assert shelf.look()["key1"] == {"text": "key1"}
    assert shelf.reads == ["key0", "key1", "key2"]
    assert shelf.cache.read_bytes() == whole


def test_a_cache_of_another_version_is_not_used(shelf):
    shelf.look(version=2)
    assert len(shelf.reads) == 3


def test_a_file_that_has_just_been_written_is_read_again_next_time(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.look(now_ns=time.time_ns())
    shelf.look(now_ns=time.time_ns())
    assert len(shelf.reads) == 3


def test_what_does_not_last_is_read_every_time(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.look(lasting=False)
    shelf.look(lasting=False)
    assert len(shelf.reads) == 3


def test_where_no_cache_can_be_written_the_facts_come_all_the_same(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.cache = tmp_path / "no" / "such" / "folder" / "index"
    assert len(shelf.look()) == 3


def test_readers_and_writers_at_the_same_time_get_whole_answers(tmp_path):
    shelves = [Shelf(tmp_path, count=50) for _ in range(4)]
    wrong: list[object] = []

    def work(shelf: Shelf, number: int) -> None:
        for turn in range(20):
            if number == 0:
                shelf.cache.write_bytes(b"garbage" * turn)
            found = shelf.look(version=1 + turn % 2)
            if found != {name: {"text": name} for name in shelf.files}:
                wrong.append(found)

    threads = [threading.Thread(target=work, args=(shelf, at)) for at, shelf in enumerate(shelves)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
