"""The cache: one at a time, and whole or not there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from reprokit.errors import ImageError, WorkspaceError
from reprokit.images.cache import appearing, cache_folder, held


def test_a_second_worker_waits_and_says_so(tmp_path: Path):
    said, order, entered = [], [], threading.Event()

    def second() -> None:
        with held(tmp_path, "thing", on_progress=lambda line: (said.append(line), entered.set())):
            order.append("second")

    worker = threading.Thread(target=second)
    with held(tmp_path, "thing", on_progress=pytest.fail):
        worker.start()
        assert entered.wait(30)
        order.append("first")
    worker.join(30)
    assert order == ["first", "second"]
    assert said == ["waiting for another reprokit process that is making thing"]


def test_different_things_do_not_wait_for_each_other(tmp_path: Path):
    with held(tmp_path, "one", on_progress=pytest.fail), held(tmp_path, "two", on_progress=pytest.fail):
        pass


def test_a_folder_appears_when_all_went_well(tmp_path: Path):
    with appearing(tmp_path / "wheels" / "abc") as partial:
        (partial / "file").write_text("x")
        assert not (tmp_path / "wheels" / "abc").exists()
    assert (tmp_path / "wheels" / "abc" / "file").read_text() == "x"
    assert [path.name for path in (tmp_path / "wheels").iterdir()] == ["abc"]


def test_a_folder_that_was_not_finished_never_appears(tmp_path: Path):
    def interrupted() -> None:
        with appearing(tmp_path / "abc") as partial:
            (partial / "file").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path):
    (tmp_path / ".abc.killed").mkdir()
    (tmp_path / ".abc.killed" / "half").write_text("x")
    (tmp_path / ".other.killed").mkdir()
    with appearing(tmp_path / "abc"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.killed", "abc"]


def test_the_cache_is_where_the_variables_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REPROKIT_CACHE", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache_folder(tmp_path / "given") == tmp_path / "given"
    assert cache_folder(None) == tmp_path / "a"
    monkeypatch.delenv("REPROKIT_CACHE")
    assert cache_folder(None) == tmp_path / "b" / "reprokit"


def test_without_a_home_the_message_names_the_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("REPROKIT_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    with pytest.raises(ImageError, match="REPROKIT_CACHE"):
        cache_folder(None)


def test_a_cache_that_cannot_be_made_is_told_apart(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="cannot write"):
        cache_folder(tmp_path / "file" / "cache")
