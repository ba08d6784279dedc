"""Interrupted, terminated, killed: no process and no container stays, and no one else's is touched."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import docker
import psutil
import pytest

from reprokit.core.records import Outcome, RunLimits, RunSpec
from reprokit.execution import local_orphans, local_program
from reprokit.execution.docker import DockerBackend, remove_orphans
from reprokit.execution.docker_orphans import OWNER_LABEL, WORKSPACE_LABEL
from reprokit.execution.local import LocalBackend

Spec = Callable[..., RunSpec]
Names = Callable[[str], list[str]]
StartTool = Callable[..., subprocess.Popen[str]]
SLEEP = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
SLEEP_WITH_CHILD = f"import os; os.fork(); {SLEEP}"
PATIENCE_S = 60.0


def wait_until(condition: Callable[[], bool], what: str, *, limit_s: float = PATIENCE_S) -> float:
    """Seconds until the condition held."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < limit_s, f"waited in vain: {what}"
        time.sleep(0.02)
    return time.monotonic() - began


def has_printed(run_dir: Path, *, lines: int = 1) -> bool:
    log = run_dir / "stdout.log"
    return log.exists() and log.read_bytes().count(b"\n") >= lines


def printed_pids(run_dir: Path) -> list[int]:
    return [int(line) for line in (run_dir / "stdout.log").read_text().split()]


def guards_of_this_process() -> list[psutil.Process]:
    """Its other children, such as the second engine, are not touched."""
    children = psutil.Process().children()
    return [child for child in children if any(word.endswith("local_guard.py") for word in child.cmdline())]


# ------------------------------------------------------------------ containers


def interrupt_at_random_moments(
    rounds: int, start_tool: StartTool, spec: RunSpec, run_dir: Path, workspace: str, containers_of: Names
) -> list[float]:
    """How long after each signal the last container was gone, in seconds."""
    moments = random.Random(7)
    durations = []
    for number in range(rounds):
        tool = start_tool(spec, run_dir, workspace=workspace)
        time.sleep(moments.uniform(0.0, 0.7))
        sent = time.monotonic()
        tool.send_signal((signal.SIGINT, signal.SIGTERM)[number % 2])
        code = tool.wait(PATIENCE_S)
        assert code in {143, -signal.SIGINT}
        assert containers_of(workspace) == []
        durations.append(time.monotonic() - sent)
    return durations


@pytest.mark.engine
def test_an_interrupted_tool_leaves_no_container_whenever_it_comes(
    start_tool: StartTool, in_container: Spec, run_dir: Path, workspace: str, containers_of: Names
):
    interrupt_at_random_moments(8, start_tool, in_container(SLEEP), run_dir, workspace, containers_of)


@pytest.mark.engine
@pytest.mark.slow
def test_an_interrupted_tool_leaves_no_container_in_two_seconds_a_hundred_times(
    start_tool: StartTool, in_container: Spec, run_dir: Path, workspace: str, containers_of: Names
):
    durations = interrupt_at_random_moments(
        100, start_tool, in_container(SLEEP), run_dir, workspace, containers_of
    )
    assert max(durations) < 2.0


@pytest.mark.sample(1)
@pytest.mark.engine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_impatient_further_signals_leave_no_container_either(
    start_tool: StartTool,
    in_container: Spec,
    run_dir: Path,
    workspace: str,
    containers_of: Names,
    number: signal.Signals,
):
    tool = start_tool(in_container(SLEEP), run_dir, workspace=workspace)
    wait_until(lambda: has_printed(run_dir), "the program to begin")
    for _ in range(3):
        tool.send_signal(number)
        time.sleep(0.02)
    tool.wait(PATIENCE_S)
    assert containers_of(workspace) == []


@pytest.mark.engine
def test_a_killed_tool_leaves_no_container_after_the_next_start(
    start_tool: StartTool, in_container: Spec, run_dir: Path, workspace: str, containers_of: Names
):
    tool = start_tool(in_container(SLEEP), run_dir, workspace=workspace)
    wait_until(lambda: has_printed(run_dir), "the program to begin")
    tool.kill()
    tool.wait()
    left = containers_of(workspace)
    assert len(left) == 1
    assert list(remove_orphans(workspace)) == left
    assert containers_of(workspace) == []
    assert remove_orphans(workspace) == ()


@pytest.mark.engine
def test_the_next_start_touches_nobody_elses_container(
    engine: docker.DockerClient,
    start_tool: StartTool,
    in_container: Spec,
    python_image: str,
    run_dir: Path,
    workspace: str,
    containers_of: Names,
):
    tool = start_tool(in_container(SLEEP), run_dir, workspace=workspace)
    wait_until(lambda: has_printed(run_dir), "the program to begin")
    alive = containers_of(workspace)
    made = [
        engine.containers.create(python_image, "true", labels=labels)
        for labels in ({}, {WORKSPACE_LABEL: workspace}, {OWNER_LABEL: "1 1 x y"})
    ]
    try:
        assert remove_orphans(workspace) == ()
        for container in made:
            container.reload()  # raises if it is gone
    finally:
        for container in made:
            container.remove(force=True)
    assert containers_of(workspace) == alive
    tool.send_signal(signal.SIGINT)
    tool.wait(PATIENCE_S)


# ------------------------------------------------------------------ an engine that goes away


@pytest.fixture(scope="module")
def private_engine(second_engine, shell_archive: Path):
    """A second engine with the shell image in it."""
    with contextlib.closing(second_engine.client()) as client:
        client.api.import_image_from_file(str(shell_archive), repository="reprokit-test", tag="shell")
    return second_engine


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK leaves its socket
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_an_engine_that_goes_away_is_told_and_leaves_no_container_when_it_comes_back(
    private_engine,
    start_tool: StartTool,
    on_host: Spec,
    run_dir: Path,
    workspace: str,
    number: signal.Signals,
):
    spec = on_host(command=("/bin/sh", "-c", "echo begun; sleep 600"))
    assert spec.realisation is not None
    image = replace(spec.realisation, kind="image", reference="reprokit-test:shell")
    spec = replace(spec, realisation=image)
    tool = start_tool(spec, run_dir, host=private_engine.host, workspace=workspace)
    wait_until(lambda: has_printed(run_dir), "the program to begin")
    private_engine.end(number)
    answer, _ = tool.communicate(timeout=60)
    private_engine.start()
    result = json.loads(answer)
    assert result["outcome"] == Outcome.ENGINE_LOST
    assert "start the engine again" in result["remedy"]
    with contextlib.closing(private_engine.client()) as client:
        left = client.api.containers(all=True)
        assert len(remove_orphans(workspace, client_factory=private_engine.client)) == len(left) == 1
        assert client.api.containers(all=True) == []


def test_an_engine_that_is_not_there_is_told(
    tmp_path: Path, run_dir: Path, on_host: Spec, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    result = DockerBackend(workspace="/w").run(on_host(), run_dir, on_tick=lambda: None)
    assert result.outcome is Outcome.ENGINE_MISSING
    assert result.remedy


# ------------------------------------------------------------------ processes


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_local_program_and_its_children_end_with_the_tool(
    start_tool: StartTool, on_host: Spec, run_dir: Path, scratch: Path, number: signal.Signals
):
    tool = start_tool(on_host(SLEEP_WITH_CHILD), run_dir)
    wait_until(lambda: has_printed(run_dir, lines=2), "the program and its child to begin")
    assert len(list(scratch.iterdir())) == 1
    tool.send_signal(number)
    tool.wait(PATIENCE_S)
    wait_until(lambda: not any(map(is_running, printed_pids(run_dir))), "the program to end")
    wait_until(lambda: not list(scratch.iterdir()), "the temporary folder to go")


def test_a_kill_of_the_tools_whole_process_group_ends_the_program_too(
    start_tool: StartTool, on_host: Spec, run_dir: Path
):
    tool = start_tool(on_host(SLEEP_WITH_CHILD), run_dir)
    wait_until(lambda: has_printed(run_dir, lines=2), "the program and its child to begin")
    os.killpg(tool.pid, signal.SIGKILL)
    tool.wait(PATIENCE_S)
    wait_until(lambda: not any(map(is_running, printed_pids(run_dir))), "the program to end")


def test_a_guard_that_is_killed_takes_the_program_with_it_and_says_so(on_host: Spec, run_dir: Path):
    def tick() -> None:
        if has_printed(run_dir, lines=2):
            for guard in guards_of_this_process():
                guard.kill()

    result = LocalBackend().run(on_host(SLEEP_WITH_CHILD), run_dir, on_tick=tick)
    assert result.outcome is Outcome.SIGNALLED
    assert "guard process of the program was killed" in result.message
    wait_until(lambda: not any(map(is_running, printed_pids(run_dir))), "the program to end")


# A daemon: in a session of its own, its parents gone, its descriptors closed, its environment empty.
DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.closerange(0, 3)
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})
    os._exit(0)
os.wait()
time.sleep(0.5)
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("then", "limit_s", "outcome"),
    [
        ("os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)", None, Outcome.SIGNALLED),
        ("os.kill(os.getppid(), signal.SIGKILL)", None, Outcome.SIGNALLED),
        ("os.kill(os.getppid(), signal.SIGSTOP); time.sleep(600)", 3.0, Outcome.TIMED_OUT),
    ],
)
def test_a_daemon_whose_guard_was_put_out_of_the_way_ends_all_the_same(
    on_host: Spec, run_dir: Path, then: str, limit_s: float | None, outcome: Outcome
):
    beside = subprocess.Popen(["sleep", "600"])  # the tool's own: no one's orphan
    try:
        spec = on_host(DAEMON + then, limits=RunLimits(timeout_s=limit_s))
        result = LocalBackend().run(spec, run_dir, on_tick=lambda: None)
        assert result.outcome is outcome
        assert "go on" not in result.message
        [daemon] = printed_pids(run_dir)
        assert not psutil.pid_exists(daemon)
        assert beside.poll() is None
    finally:
        beside.kill()
        beside.wait()


def test_what_cannot_be_ended_is_said(on_host: Spec, run_dir: Path, monkeypatch: pytest.MonkeyPatch):
    def end_but_two(*, since: float, guard: str) -> tuple[int, ...]:
        assert local_orphans.end_orphans(since=since, guard=guard) == ()
        return 4711, 4712

    monkeypatch.setattr(local_program, "end_orphans", end_but_two)
    then = "os.kill(os.getppid(), signal.SIGKILL)"
    result = LocalBackend().run(on_host(DAEMON + then), run_dir, on_tick=lambda: None)
    assert result.message.endswith("of what it had started, these still run: 4711, 4712")


def test_where_the_system_cannot_say_what_goes_on_that_is_said(
    on_host: Spec, run_dir: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(local_program, "ask_for_orphans", lambda: False)
    result = LocalBackend().run(
        on_host("import os, signal; os.kill(os.getppid(), signal.SIGKILL)"), run_dir, on_tick=lambda: None
    )
    assert result.message.endswith("processes that it had started may still run")


def test_a_guard_that_is_killed_while_the_tool_cannot_act_takes_the_program_with_it(
    start_tool: StartTool, on_host: Spec, run_dir: Path, scratch: Path
):
    tool = start_tool(on_host(SLEEP), run_dir)
    wait_until(lambda: has_printed(run_dir), "the program to begin")
    tool.send_signal(signal.SIGSTOP)
    for guard in psutil.Process(tool.pid).children():
        guard.kill()
    wait_until(lambda: not any(map(is_running, printed_pids(run_dir))), "the program to end")
    tool.send_signal(signal.SIGCONT)
    answer, _ = tool.communicate(timeout=PATIENCE_S)
    assert "guard process of the program was killed" in answer
    assert list(scratch.iterdir()) == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_guard_minds_no_other_signal(on_host: Spec, run_dir: Path, number: signal.Signals):
    sent = []

    def tick() -> None:
        if has_printed(run_dir):
            sent.extend(guard.send_signal(number) for guard in guards_of_this_process())

    spec = on_host("import time; print('begun', flush=True); time.sleep(1.3); print('done')")
    assert LocalBackend().run(spec, run_dir, on_tick=tick).completed
    assert sent
    assert (run_dir / "stdout.log").read_text() == "begun\ndone\n"


@pytest.mark.slow
def test_interrupted_at_random_moments_nothing_is_left(
    start_tool: StartTool, on_host: Spec, run_dir: Path, scratch: Path
):
    moments = random.Random(7)
    for number in range(10):
        tool = start_tool(on_host(SLEEP_WITH_CHILD), run_dir)
        time.sleep(moments.uniform(0.0, 0.2))
        tool.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[number % 3])
        tool.wait(PATIENCE_S)
        wait_until(lambda: not any(map(is_running, printed_pids(run_dir))), "the program to end")
    wait_until(lambda: not list(scratch.iterdir()), "the temporary folders to go")


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK leaves its socket
def test_an_engine_that_is_killed_ten_times_is_told_each_time_and_leaves_no_container(
    private_engine, start_tool: StartTool, on_host: Spec, tmp_path: Path, workspace: str
):
    moments = random.Random(7)
    spec = on_host(command=("/bin/sh", "-c", "echo begun; sleep 600"))
    assert spec.realisation is not None
    image = replace(spec.realisation, kind="image", reference="reprokit-test:shell")
    for number in range(10):
        run_dir = tmp_path / "runs" / "recipe" / f"run-{number}"
        (run_dir / "output").mkdir(parents=True)
        one = replace(spec, realisation=image)
        tool = start_tool(one, run_dir, host=private_engine.host, workspace=workspace)
        wait_until(lambda run_dir=run_dir: has_printed(run_dir), "the program to begin")
        time.sleep(moments.uniform(0, 0.5))
        private_engine.end(signal.SIGKILL)
        answer, _ = tool.communicate(timeout=60)
        private_engine.start()
        assert json.loads(answer)["outcome"] == Outcome.ENGINE_LOST
        assert not (run_dir / "COMPLETE").exists()
    backend = DockerBackend(workspace=workspace, client_factory=private_engine.client)
    ended = replace(spec, realisation=image, command=("/bin/sh", "-c", "exit 0"))
    (tmp_path / "after" / "output").mkdir(parents=True)
    assert backend.run(ended, tmp_path / "after", on_tick=lambda: None).completed
    assert len(remove_orphans(workspace, client_factory=private_engine.client)) == 10
    with contextlib.closing(private_engine.client()) as client:
        assert client.api.containers(all=True) == []
