"""From a container's life to a result, with an engine that fails wherever a test wants it to."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from docker.errors import APIError, ImageNotFound, NotFound

from reprokit.core.records import Outcome, RunLimits, RunResult, RunSpec
from reprokit.execution import docker as docker_backend
from reprokit.execution.docker import DockerBackend
from reprokit.execution.docker_container import ContainerLife
from reprokit.execution.kernel_log import KernelLog, MemoryKills


def no_tick() -> None:
    pass


def run(engine: Any, spec: RunSpec, run_dir: Path, *, on_tick: Any = no_tick) -> RunResult:
    result = DockerBackend(workspace="/w", client_factory=engine.client).run(spec, run_dir, on_tick=on_tick)
    assert engine.containers_by_name == {}, "a container was left"
    return result


def test_a_run_that_ends_well_is_completed(engine: Any, container_spec: RunSpec, run_dir: Path):
    result = run(engine, container_spec, run_dir)
    assert result.completed
    assert result.isolation["network"] == "none"
    assert result.isolation["engine_version"] == "99.1"
    assert engine.calls == [
        "connect",
        "info",
        "connect",
        "create",
        "attach",
        "start",
        "wait",
        "inspect",
        "remove",
    ]


def test_streams_arrive_separated_and_byte_for_byte(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.frames = [(1, b"out\xff\x00"), (2, b"err\n"), (1, b"x" * 300_000), (3, b"the engine speaks\n")]
    run(engine, container_spec, run_dir)
    assert (run_dir / "stdout.log").read_bytes() == b"out\xff\x00" + b"x" * 300_000
    assert (run_dir / "stderr.log").read_bytes() == b"err\nthe engine speaks\n"


@pytest.mark.parametrize("noticed", [True, False], ids=["late", "never"])
def test_running_out_of_memory_is_known_though_the_engine_notices_late_or_never(
    engine: Any, container_spec: RunSpec, run_dir: Path, monkeypatch: pytest.MonkeyPatch, noticed: bool
):
    kernel_log_says(monkeypatch, MemoryKills(number=1))
    engine.exit_code, inspect = 137, engine.inspect_container

    def inspected(name: str) -> Any:
        answer = inspect(name)
        engine.oom_killed = noticed
        return answer

    engine.inspect_container = inspected
    result = run(engine, container_spec, run_dir)
    assert result.outcome is Outcome.OUT_OF_MEMORY
    assert ("the container's limit" in result.message) is noticed
    assert ("the system's out-of-memory killer was active" in result.message) is not noticed


OTHER_CONTAINER = "/docker/" + "e" * 64


def kernel_log_says(monkeypatch: pytest.MonkeyPatch, kills: MemoryKills) -> None:
    monkeypatch.setattr(KernelLog, "kills", lambda self: kills)


def test_a_kill_while_another_container_ran_out_of_memory_stays_a_kill(
    engine: Any, container_spec: RunSpec, run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    named = ((OTHER_CONTAINER, OTHER_CONTAINER, 4711),)
    kernel_log_says(monkeypatch, MemoryKills(number=1, named=named, all_named=True))
    engine.exit_code = 137
    result = run(engine, container_spec, run_dir)
    assert (result.outcome, result.signal) == (Outcome.SIGNALLED, "SIGKILL")


@pytest.mark.parametrize("exit_code", [0, 1, 137])
@pytest.mark.parametrize(
    ("at_its_limit", "words"),
    [(True, "the container's limit of 8.0 GiB was reached"), (False, "whose own limit was not reached")],
    ids=["the container's limit", "the machine's memory"],
)
def test_a_process_that_the_kernel_killed_for_lack_of_memory_makes_the_run_run_out_of_memory(
    engine: Any,
    container_spec: RunSpec,
    run_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    exit_code: int,
    at_its_limit: bool,
    words: str,
):
    ours = f"/system.slice/docker-{engine.container_id}.scope"
    named = ((OTHER_CONTAINER, OTHER_CONTAINER, 4711), (ours if at_its_limit else "", ours, 4712))
    kernel_log_says(monkeypatch, MemoryKills(number=9, named=named))
    engine.exit_code = exit_code
    result = run(engine, container_spec, run_dir)
    assert result.outcome is Outcome.OUT_OF_MEMORY
    assert words in result.message
    assert ("though the program ended with exit code 0" in result.message) is (exit_code == 0)


def test_a_program_that_ends_well_after_the_engine_saw_it_run_out_of_memory_is_not_completed(
    engine: Any, container_spec: RunSpec, run_dir: Path
):
    engine.oom_killed = True
    result = run(engine, container_spec, run_dir)
    assert (result.outcome, result.exit_code, result.completed) == (Outcome.OUT_OF_MEMORY, 0, False)


def test_a_kill_while_no_memory_ran_out_stays_a_kill(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.exit_code = 137
    result = run(engine, container_spec, run_dir)
    assert (result.outcome, result.signal) == (Outcome.SIGNALLED, "SIGKILL")


def test_a_crash_is_told_with_the_programs_last_words(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.exit_code = 3
    engine.frames = [(2, b"Traceback (most recent call last):\nValueError: bad\n")]
    result = run(engine, container_spec, run_dir)
    assert (result.outcome, result.exit_code) == (Outcome.CRASHED, 3)
    assert result.message.endswith("exit code 3: ValueError: bad")


def test_137_is_out_of_memory_only_if_the_engine_says_so(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.exit_code = 137
    killed = run(engine, container_spec, run_dir)
    engine.oom_killed = True
    ran_out = run(engine, container_spec, run_dir)
    assert (killed.outcome, killed.exit_code, killed.signal) == (Outcome.SIGNALLED, None, "SIGKILL")
    assert ran_out.outcome is Outcome.OUT_OF_MEMORY
    assert "8.0 GiB" in ran_out.message


def test_no_engine_is_told_with_its_reason(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.failing["connect"] = FileNotFoundError(2, "No such file or directory")
    result = run(engine, container_spec, run_dir)
    assert result.outcome is Outcome.ENGINE_MISSING
    assert "no container engine" in result.message
    assert "--backend local" in result.remedy
    assert result.isolation == {"backend": "docker"}


def test_a_missing_image_is_told_with_how_to_build_it(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.failing["create"] = ImageNotFound("404")
    result = run(engine, container_spec, run_dir)
    assert result.outcome is Outcome.IMAGE_MISSING
    assert "sha256:abc" in result.message
    assert "reprokit image build" in result.remedy


def test_an_empty_command_never_starts_what_the_image_would(
    engine: Any, container_spec: RunSpec, run_dir: Path
):
    assert run(engine, replace(container_spec, command=()), run_dir).outcome is Outcome.COMMAND_MISSING
    assert "create" not in engine.calls


def test_a_run_that_names_no_image_never_starts(engine: Any, container_spec: RunSpec, run_dir: Path):
    assert container_spec.realisation is not None
    for realisation in (None, replace(container_spec.realisation, kind="venv")):
        result = run(engine, replace(container_spec, realisation=realisation), run_dir)
        assert result.outcome is Outcome.IMAGE_MISSING
    assert "create" not in engine.calls


@pytest.mark.parametrize(
    ("call", "words", "outcome", "remedy"),
    [
        ("create", "Requested CPUs are not available", Outcome.START_REFUSED, "limits"),
        (
            "create",
            "bind source path does not exist: /x",
            Outcome.START_REFUSED,
            "use an engine on this host",
        ),
        ("start", "could not select device driver: [[gpu]]", Outcome.START_REFUSED, "NVIDIA"),
        ("start", "write /var/lib/docker/x: no space left on device", Outcome.DISK_FULL, "docker system df"),
    ],
)
def test_an_engine_that_refuses_is_quoted(
    engine: Any, container_spec: RunSpec, run_dir: Path, call: str, words: str, outcome: Outcome, remedy: str
):
    engine.refuse(call, words)
    result = run(engine, container_spec, run_dir)
    assert result.outcome is outcome
    assert words in result.message
    assert remedy in result.remedy


@pytest.mark.parametrize("call", ["create", "attach", "start", "wait", "inspect"])
def test_an_engine_that_goes_away_is_lost_wherever_it_goes(
    engine: Any, container_spec: RunSpec, run_dir: Path, call: str
):
    engine.failing[call] = requests.exceptions.ChunkedEncodingError("Response ended prematurely")
    result = run(engine, container_spec, run_dir)
    assert result.outcome is Outcome.ENGINE_LOST
    assert "ChunkedEncodingError" in result.message
    assert "start the engine again" in result.remedy


def test_a_lost_engine_that_cannot_even_remove_is_still_an_outcome(
    engine: Any, container_spec: RunSpec, run_dir: Path
):
    engine.failing |= {"wait": requests.ConnectionError(), "remove": requests.ConnectionError()}
    backend = DockerBackend(workspace="/w", client_factory=engine.client)
    assert backend.run(container_spec, run_dir, on_tick=no_tick).outcome is Outcome.ENGINE_LOST
    assert len(engine.containers_by_name) == 1  # for remove_orphans, at the next start


def test_an_engine_with_an_error_of_its_own_while_waiting_is_lost(
    engine: Any, container_spec: RunSpec, run_dir: Path
):
    engine.failing["wait"] = APIError("500", explanation="shutting down")
    assert run(engine, container_spec, run_dir).outcome is Outcome.ENGINE_LOST


def test_a_container_that_somebody_removed_is_no_lost_engine(
    engine: Any, container_spec: RunSpec, run_dir: Path
):
    engine.failing["inspect"] = NotFound("no such container")
    result = run(engine, container_spec, run_dir)
    assert result.outcome is Outcome.SIGNALLED
    assert "removed from outside" in result.message


def test_a_program_that_takes_too_long_is_stopped(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.runs_until_killed = True
    result = run(engine, replace(container_spec, limits=RunLimits(timeout_s=0.2)), run_dir)
    assert result.outcome is Outcome.TIMED_OUT
    assert "0.2 s" in result.message
    assert result.isolation["network"] == "none"


def test_the_engines_time_to_start_is_not_the_programs(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.waiting["start"] = threading.Event()
    ticks: list[None] = []

    def tick() -> None:
        ticks.append(None)
        if len(ticks) == 3:
            engine.waiting["start"].set()

    spec = replace(container_spec, limits=RunLimits(timeout_s=0.6))
    assert run(engine, spec, run_dir, on_tick=tick).completed
    assert len(ticks) >= 3


def test_a_program_that_ends_well_just_when_its_time_is_up_has_completed(
    engine: Any, container_spec: RunSpec, run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    engine.refuse("kill", "container is not running")
    engine.waiting["wait"] = threading.Event()
    monkeypatch.setattr(docker_backend.ContainerLife, "_kill", lambda self: engine.waiting["wait"].set())
    assert run(engine, replace(container_spec, limits=RunLimits(timeout_s=0.1)), run_dir).completed


def test_ticks_come_while_the_program_runs(engine: Any, container_spec: RunSpec, run_dir: Path):
    engine.runs_until_killed = True
    ticks: list[int] = []
    run(
        engine,
        replace(container_spec, limits=RunLimits(timeout_s=1.3)),
        run_dir,
        on_tick=lambda: ticks.append(threading.get_ident()),
    )
    assert 1 <= len(ticks) <= 2
    assert set(ticks) == {threading.get_ident()}


@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError, BrokenPipeError])
def test_whatever_a_tick_raises_stops_the_program_and_comes_out(
    engine: Any, container_spec: RunSpec, run_dir: Path, kind: type[BaseException]
):
    engine.runs_until_killed = True

    def tick() -> None:
        raise kind

    with pytest.raises(kind):
        run(engine, container_spec, run_dir, on_tick=tick)
    assert engine.containers_by_name == {}
    assert engine.calls[-1] == "remove"


@pytest.mark.parametrize("call", ["create", "attach", "start"])
def test_a_stop_while_the_container_is_being_made_leaves_none(
    engine: Any, container_spec: RunSpec, run_dir: Path, call: str
):
    engine.waiting[call] = threading.Event()
    engine.runs_until_killed = True

    def tick() -> None:
        threading.Timer(0.2, engine.waiting[call].set).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(engine, container_spec, run_dir, on_tick=tick)
    assert engine.containers_by_name == {}
    assert ("start" in engine.calls) == (call != "create")


def test_a_second_interruption_at_the_very_stop_leaves_no_container(
    engine: Any, container_spec: RunSpec, run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    engine.runs_until_killed = True
    kill, interruptions = ContainerLife._kill_meanwhile, iter([KeyboardInterrupt])

    def interrupted(life: ContainerLife) -> None:
        for second in interruptions:
            raise second
        kill(life)

    def tick() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ContainerLife, "_kill_meanwhile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(engine, container_spec, run_dir, on_tick=tick)
    assert engine.containers_by_name == {}


def test_a_log_on_a_full_disk_stops_the_program(engine: Any, container_spec: RunSpec, run_dir: Path):
    (run_dir / "stdout.log").symlink_to("/dev/full")
    engine.frames = [(1, b"hello\n")] * 20
    engine.runs_until_killed = True
    result = run(engine, container_spec, run_dir)
    assert result.outcome is Outcome.DISK_FULL
    assert engine.calls.count("kill") == 1


def test_a_run_folder_that_is_not_there_is_told_before_anything_starts(
    engine: Any, container_spec: RunSpec, tmp_path: Path
):
    result = run(engine, container_spec, tmp_path / "gone")
    assert result.outcome is Outcome.RUN_FOLDER_NOT_WRITABLE
    assert "create" not in engine.calls


def test_a_run_folder_on_a_full_disk_is_told_before_anything_starts(
    engine: Any, container_spec: RunSpec, run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(docker_backend, "open_logs", full)
    assert run(engine, container_spec, run_dir).outcome is Outcome.DISK_FULL


@pytest.mark.parametrize(
    ("uid", "options", "user", "userns"),
    [
        (1000, [], "1000:100", ""),
        (0, [], "65532:65532", ""),
        (1000, ["name=rootless"], "0:0", ""),
        (1000, ["name=userns"], "1000:100", "host"),
    ],
)
def test_the_user_inside_owns_the_output_outside_and_is_never_root_of_the_host(
    engine: Any,
    container_spec: RunSpec,
    run_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    uid: int,
    options: list[str],
    user: str,
    userns: str,
):
    handed_over: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(os, "getgid", lambda: 100)
    monkeypatch.setattr(os, "chown", lambda path, u, g: handed_over.append((u, g)))
    engine.security_options = options
    result = run(engine, container_spec, run_dir)
    assert (result.isolation["user"], result.isolation["userns"]) == (user, userns)
    assert handed_over == ([(65532, 65532)] if uid == 0 else [])


def test_a_bug_in_the_following_thread_is_never_a_completed_run(
    engine: Any, container_spec: RunSpec, run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    engine.failing["attach"] = KeyError("a bug")
    assert run(engine, container_spec, run_dir).outcome is Outcome.ENGINE_LOST


def test_two_runs_at_one_time_have_a_container_each(engine: Any, container_spec: RunSpec, tmp_path: Path):
    names: list[str] = []
    create = engine.create_container_from_config

    def noting_the_name(config: Any, *, name: str) -> None:
        names.append(name)
        create(config, name=name)

    engine.create_container_from_config = noting_the_name
    for _ in range(2):
        folder = tmp_path / str(len(names))
        (folder / "output").mkdir(parents=True)
        run(engine, replace(container_spec, recipe="a b/ç"), folder)
    assert len(set(names)) == 2
    assert all(name.startswith("reprokit-a-b--run-1-") for name in names)
