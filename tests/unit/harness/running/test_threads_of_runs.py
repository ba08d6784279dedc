"""Several runs at one time: after a fault nothing begins any more, and the fault is told."""

from __future__ import annotations

import threading

import pytest

from reprokit.harness.running.threads_of_runs import in_threads


def test_every_item_is_run():
    seen = []
    in_threads(seen.append, range(10), workers=3, stop=threading.Event())
    assert sorted(seen) == list(range(10))


def test_after_a_fault_the_thread_that_failed_takes_no_further_item():
    stop, begun = threading.Event(), []

    def one(item):
        if stop.is_set():
            return
        begun.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        in_threads(one, range(50), workers=1, stop=stop)
    assert begun == [0]
    assert stop.is_set()


def test_others_are_asked_to_stop_and_waited_for():
    stop, ended = threading.Event(), []

    def one(item):
        if item == "fails":
            raise KeyboardInterrupt
        assert stop.wait(timeout=30)
        ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        in_threads(one, ["waits", "fails"], workers=2, stop=stop)
    assert ended == ["waits"]
