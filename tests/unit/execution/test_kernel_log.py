"""Whom the kernel killed for lack of memory, from lines as it writes them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprokit.execution import kernel_log
from reprokit.execution.kernel_log import KernelLog, Killed, MemoryKills

OURS = "5d604a4799fa239556696a5640b34376373414d0fe3daf6e3ccca43d22a869d2"
OTHER = "e2328fe589c2a7c2900748987fc9a75fe207e5e7256ab4b1636045e28d38f7d3"
KILLED = "3,4119,26463626058,-;Memory cgroup out of memory: Killed process 21483 (python3) total-vm:21682kB\n"


def victim(limited: str, killed: str, *, pid: int = 21483, priority: int = 6) -> str:
    """The line that the kernel writes of its victim before it kills it, of whatever cpuset."""
    at = f"oom_memcg={limited}" if limited else "global_oom"
    return (
        f"{priority},4118,26463625998,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={OURS},"
        f"mems_allowed=0,{at},task_memcg={killed},task=python3,pid={pid},uid=65532\n"
    )


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[str | OSError]:
    """What the log holds, one record a read, as of the device; the last answer is that there is no more."""
    records: list[str | OSError] = []

    def read(log: int, size: int) -> bytes:
        record = records.pop(0) if records else BlockingIOError(errno.EAGAIN, "no more")
        if isinstance(record, OSError):
            raise record
        return record.encode()

    monkeypatch.setattr(os, "read", read)
    return records


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many kills the kernel has counted before and after; the same, unless a test says otherwise."""
    counts = [40, 40]
    monkeypatch.setattr(kernel_log, "out_of_memory_kills", lambda: counts.pop(0))
    return counts


def kills(tmp_path: Path) -> MemoryKills:
    (tmp_path / "kmsg").touch()
    with KernelLog(tmp_path / "kmsg") as log:
        return log.kills()


@pytest.mark.parametrize(
    "group",
    [f"/docker/{OURS}", f"/system.slice/docker-{OURS}.scope", f"/user.slice/libpod-{OURS}.scope"],
)
def test_a_container_at_its_limit_is_known_by_its_id(
    tmp_path: Path, records: list[str], counts: list[int], group: str
):
    records += [victim(group, group), KILLED]
    counts[1] = 41
    assert kills(tmp_path).of(OURS) is Killed.AT_ITS_LIMIT


@pytest.mark.parametrize("limited", ["", "/docker", f"/docker/{OTHER}"])
def test_a_process_killed_for_memory_outside_its_container_is_told_from_its_limit(
    tmp_path: Path, records: list[str], counts: list[int], limited: str
):
    records += [victim(limited, f"/docker/{OURS}"), KILLED]
    assert kills(tmp_path).of(OURS) is Killed.ELSEWHERE


def test_a_kill_of_another_container_is_none_of_ours(tmp_path: Path, records: list[str], counts: list[int]):
    records += [victim(f"/docker/{OTHER}", f"/docker/{OTHER}"), KILLED]
    counts[1] = 41
    assert kills(tmp_path).of(OURS) is Killed.NONE


def test_a_kill_that_the_log_does_not_name_may_be_ours(tmp_path: Path, records: list[str], counts: list[int]):
    records += [victim(f"/docker/{OTHER}", f"/docker/{OTHER}"), KILLED, KILLED]
    assert kills(tmp_path).of(OURS) is Killed.UNKNOWN


def test_a_kill_that_the_kernel_only_counts_may_be_ours(
    tmp_path: Path, records: list[str], counts: list[int]
):
    counts[1] = 41
    assert kills(tmp_path).of(OURS) is Killed.UNKNOWN


def test_lines_that_were_dropped_may_name_ours(
    tmp_path: Path, records: list[str | OSError], counts: list[int]
):
    records += [OSError(errno.EPIPE, "overrun"), victim(f"/docker/{OTHER}", f"/docker/{OTHER}"), KILLED]
    assert kills(tmp_path).of(OURS) is Killed.UNKNOWN


def test_no_kill_is_none_of_ours_though_lines_were_dropped(
    tmp_path: Path, records: list[str | OSError], counts: list[int]
):
    records.append(OSError(errno.EPIPE, "overrun"))
    assert kills(tmp_path).of(OURS) is Killed.NONE


def test_lines_that_a_user_wrote_are_no_evidence(tmp_path: Path, records: list[str], counts: list[int]):
    records.append(victim(f"/docker/{OURS}", f"/docker/{OURS}", priority=12))
    assert kills(tmp_path).of(OURS) is Killed.NONE


def test_a_log_that_may_not_be_read_leaves_only_the_count(tmp_path: Path, counts: list[int]):
    counts[1] = 41
    with KernelLog(tmp_path / "not-there") as log:
        found = log.kills()
    assert (found.number, found.of(OURS), found.of_process(1)) == (1, Killed.UNKNOWN, Killed.UNKNOWN)


def test_a_container_without_an_id_is_never_found(tmp_path: Path, records: list[str], counts: list[int]):
    records += [victim(f"/docker/{OTHER}", f"/docker/{OTHER}"), KILLED]
    assert kills(tmp_path).of("") is Killed.UNKNOWN


def test_a_process_is_known_by_its_number_where_the_log_holds_the_same_numbers(
    tmp_path: Path, records: list[str], counts: list[int], monkeypatch: pytest.MonkeyPatch
):
    records += [victim("", "/", pid=21483), KILLED]
    found = kills(tmp_path)
    for is_first, ours, others in (
        (True, Killed.ELSEWHERE, Killed.NONE),
        (False, Killed.UNKNOWN, Killed.UNKNOWN),
    ):
        monkeypatch.setattr(kernel_log, "_has_first_pids", lambda is_first=is_first: is_first)
        assert (found.of_process(21483), found.of_process(2148), found.of_process(None)) == (
            ours,
            others,
            Killed.UNKNOWN,
        )
