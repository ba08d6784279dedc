"""Runs as processes of this host: what they are given, and every way to fail told from the others."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from reprokit.core.records import Mount, Outcome, RunLimits, RunResult, RunSpec
from reprokit.execution.local import LocalBackend
from reprokit.execution.local_guard import can_confine
from reprokit.execution.source_files import digest_of

Spec = Callable[..., RunSpec]
INSIDE = """
import json, os, sys
json.dump({
    "argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "stdin": sys.stdin.read(),
    "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1],
    "code": sorted(os.listdir(sys.argv[1])) if len(sys.argv) > 1 else None,
}, sys.stdout)
"""


def run(spec: RunSpec, run_dir: Path) -> RunResult:
    return LocalBackend().run(spec, run_dir, on_tick=lambda: None)


@pytest.fixture(autouse=True)
def nothing_left_behind(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary folders and processes of a run are gone when it is over."""
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    yield
    assert list(scratch.iterdir()) == []
    assert psutil.Process().children(recursive=True) == []


def test_the_caller_gets_orphans_of_the_run_only(run_dir: Path, on_host: Spec):
    run(on_host(command=("{python}", "-c", "pass")), run_dir)
    orphan = "import os, subprocess; subprocess.Popen(['sleep', '0.2']); os._exit(0)"
    subprocess.run([sys.executable, "-c", orphan], check=True)
    assert psutil.Process().children() == []


def test_a_recipes_program_gets_exactly_its_variables_and_a_minimal_rest(
    run_dir: Path, on_host: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    code = tmp_path / "code"
    code.mkdir()
    (code / "hello").touch()
    spec = on_host(
        command=("{python}", "-c", INSIDE, "{code}", "{seed}", "{device}", "{run_dir}", '{"a": 1}'),
        environment={"PYTHONPATH": "{mounts}", "PYTHONHASHSEED": "0"},
        mounts=(Mount(name="code", path=str(code)),),
    )
    assert run(spec, run_dir).completed, (run_dir / "stderr.log").read_text()
    seen = json.loads((run_dir / "stdout.log").read_text())
    output = str(run_dir / "output")
    mounts = seen["env"]["PYTHONPATH"]
    assert seen["argv"] == [f"{mounts}/code", "7", "cpu", output, '{"a": 1}']
    assert seen["code"] == ["hello"]
    assert seen["cwd"] == output
    assert seen["stdin"] == ""
    surroundings = {"PATH", "HOME", "TMPDIR", "TZ", "LC_ALL", "PYTHONPYCACHEPREFIX"}
    assert set(seen["env"]) == {*surroundings, "PYTHONPATH", "PYTHONHASHSEED"}
    assert seen["env"]["PYTHONPYCACHEPREFIX"].startswith(str(tmp_path))
    assert seen["env"]["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert seen["env"]["HOME"].startswith(str(tmp_path))
    assert seen["descriptors"] == [0, 1, 2]


def test_a_plain_command_keeps_the_callers_variables_and_working_directory(
    run_dir: Path, on_host: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODD_BYTES", os.fsdecode(b"\xff"))
    spec = on_host(command=(sys.executable, "-c", INSIDE), inherit_environment=True, realisation=None)
    assert run(spec, run_dir).completed
    seen = json.loads((run_dir / "stdout.log").read_text())
    assert seen["env"] == dict(os.environ)
    assert seen["cwd"] == str(tmp_path)
    assert seen["stdin"] == ""


def test_a_plain_command_is_found_on_the_callers_path(
    run_dir: Path, on_host: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    script = tmp_path / "mine"
    script.write_text("#!/bin/sh\necho found {seed}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert run(on_host(command=("mine",), inherit_environment=True, realisation=None), run_dir).completed
    assert (run_dir / "stdout.log").read_text() == "found {seed}\n"


def test_a_broken_pipe_ends_a_program_as_it_would_in_a_shell(run_dir: Path, on_host: Spec):
    spec = on_host(command=("sh", "-c", "yes | head -1; echo done"))
    assert run(spec, run_dir).completed
    assert (run_dir / "stdout.log").read_text() == "y\ndone\n"
    assert (run_dir / "stderr.log").read_text() == ""


def test_both_streams_arrive_whole_and_separated(run_dir: Path, on_host: Spec):
    program = """
import os, random
random.seed(1)
for _ in range(50):
    os.write(1, random.randbytes(100_000))
    os.write(2, random.randbytes(1_000))
"""
    assert run(on_host(program), run_dir).completed
    random.seed(1)
    expected = [(random.randbytes(100_000), random.randbytes(1_000)) for _ in range(50)]
    for name, parts in zip(("stdout.log", "stderr.log"), zip(*expected, strict=True), strict=True):
        assert (run_dir / name).read_bytes() == b"".join(parts)


def test_a_crash_names_the_exception(run_dir: Path, on_host: Spec):
    result = run(on_host("raise ValueError('bad shape')"), run_dir)
    assert (result.outcome, result.exit_code) == (Outcome.CRASHED, 1)
    assert result.message.startswith("the program ended with exit code 1: ValueError: bad shape")
    assert result.isolation == {"backend": "local"}


@pytest.mark.parametrize(("number", "name"), [(11, "SIGSEGV"), (9, "SIGKILL"), (15, "SIGTERM")])
def test_a_signal_is_named(run_dir: Path, on_host: Spec, number: int, name: str):
    result = run(on_host(f"import os; os.kill(os.getpid(), {number})"), run_dir)
    assert (result.outcome, result.exit_code, result.signal) == (Outcome.SIGNALLED, None, name)


def test_an_exit_code_above_128_is_no_signal_here(run_dir: Path, on_host: Spec):
    result = run(on_host("raise SystemExit(137)"), run_dir)
    assert (result.outcome, result.exit_code, result.signal) == (Outcome.CRASHED, 137, None)


def test_a_memory_limit_ends_in_a_memory_error(run_dir: Path, on_host: Spec):
    spec = on_host("x = bytearray(1 << 30)", limits=RunLimits(memory_bytes=200 << 20))
    result = run(spec, run_dir)
    assert result.outcome is Outcome.OUT_OF_MEMORY
    assert "MemoryError" in result.message


@pytest.fixture
def small_memory() -> Iterator[Path]:
    """The file to join a control group with little memory."""
    for parent, limit in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
        group = Path("/sys/fs/cgroup", parent, f"reprokit-test-{os.getpid()}")
        try:
            group.mkdir()
            (group / limit).write_text(str(64 << 20))
        except OSError:
            continue
        yield group / "cgroup.procs"
        group.rmdir()
        return
    pytest.skip("cannot make a memory control group here")


def test_a_kill_by_the_kernel_for_memory_is_told_from_any_other_kill(
    run_dir: Path, on_host: Spec, small_memory: Path
):
    program = f"""
import os
open({str(small_memory)!r}, "w").write(str(os.getpid()))
x = b"x" * (300 << 20)
"""
    result = run(on_host(program), run_dir)
    assert (result.outcome, result.signal) == (Outcome.OUT_OF_MEMORY, "SIGKILL")
    assert "out-of-memory killer" in result.message


def test_too_long_is_stopped(run_dir: Path, on_host: Spec):
    spec = on_host("import time; print('begun', flush=True); time.sleep(600)", limits=RunLimits(timeout_s=3))
    assert run(spec, run_dir).outcome is Outcome.TIMED_OUT
    assert (run_dir / "stdout.log").read_bytes() == b"begun\n"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("not-there", "No such file"),
        ("/etc/passwd", "Permission denied"),
        ("/etc/passwd/x", "Not a directory"),
    ],
)
def test_a_missing_command_is_named(run_dir: Path, on_host: Spec, command: str, reason: str):
    result = run(on_host(command=(command,)), run_dir)
    assert (result.outcome, result.exit_code) == (Outcome.COMMAND_MISSING, None)
    assert repr(command) in result.message
    assert reason in result.message


def test_an_empty_command_is_missing(run_dir: Path, on_host: Spec):
    assert run(on_host(command=()), run_dir).outcome is Outcome.COMMAND_MISSING


def test_a_command_that_a_shell_does_not_find_is_missing_too(run_dir: Path, on_host: Spec):
    result = run(on_host(command=("sh", "-c", "not-there")), run_dir)
    assert result.outcome is Outcome.COMMAND_MISSING
    assert "not-there" in result.message


def test_an_argument_that_no_program_can_get_is_refused(run_dir: Path, on_host: Spec):
    assert run(on_host(command=("echo", "a\0b")), run_dir).outcome is Outcome.COMMAND_MISSING


def test_a_working_directory_that_is_not_there_is_named(run_dir: Path, on_host: Spec):
    result = run(on_host(working_dir="/not/there"), run_dir)
    assert result.outcome is Outcome.START_REFUSED
    assert "/not/there" in result.message


def test_cores_that_the_host_has_not_are_refused(run_dir: Path, on_host: Spec):
    result = run(on_host(limits=RunLimits(cpus=(4095,))), run_dir)
    assert result.outcome is Outcome.START_REFUSED
    assert "4095" in result.message


def test_a_run_folder_that_is_not_there_is_told(tmp_path: Path, on_host: Spec):
    assert run(on_host(), tmp_path / "gone").outcome is Outcome.RUN_FOLDER_NOT_WRITABLE


def test_a_disk_that_the_program_fills_is_full(on_host: Spec, small_disk: Path):
    result = run(on_host("open('{run_dir}/weights', 'wb').write(bytes(2 << 20))"), small_disk)
    assert result.outcome is Outcome.DISK_FULL


def test_a_disk_that_the_logs_fill_is_full(on_host: Spec, small_disk: Path):
    result = run(on_host("while True: print('x' * 1000)"), small_disk)
    assert result.outcome is Outcome.DISK_FULL


def test_a_read_only_run_folder_is_told(on_host: Spec, small_disk: Path):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert run(on_host(), small_disk).outcome is Outcome.RUN_FOLDER_NOT_WRITABLE


def test_temporary_files_without_room_are_told(
    run_dir: Path, on_host: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    result = run(on_host(), run_dir)
    assert result.outcome is Outcome.START_REFUSED
    assert "scratch folder" in result.message


def test_temporary_files_on_a_full_disk_are_told(
    run_dir: Path, on_host: Spec, small_disk: Path, monkeypatch: pytest.MonkeyPatch
):
    with contextlib.suppress(OSError):
        for number in range(1000):
            (small_disk / str(number)).touch()
    monkeypatch.setattr("tempfile.tempdir", str(small_disk))
    assert run(on_host(), run_dir).outcome is Outcome.DISK_FULL


@pytest.mark.parametrize("kind", [KeyboardInterrupt, BrokenPipeError])
def test_whatever_a_tick_raises_stops_the_program_and_comes_out(
    run_dir: Path, on_host: Spec, kind: type[BaseException]
):
    def tick() -> None:
        raise kind

    with pytest.raises(kind):
        LocalBackend().run(on_host("import time; time.sleep(60)"), run_dir, on_tick=tick)


def test_ticks_come_in_the_calling_thread(run_dir: Path, on_host: Spec):
    ticks: list[int] = []
    spec = on_host("import time; time.sleep(1.2)")
    LocalBackend().run(spec, run_dir, on_tick=lambda: ticks.append(threading.get_ident()))
    assert set(ticks) == {threading.get_ident()}


def test_children_that_left_the_family_end_with_the_program(run_dir: Path, on_host: Spec):
    program = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(60)
    os._exit(0)
time.sleep(0.5)
"""
    assert run(on_host(program), run_dir).completed
    assert not psutil.pid_exists(int((run_dir / "stdout.log").read_text()))


def test_two_runs_side_by_side_keep_to_their_own_cores(on_host: Spec, tmp_path: Path):
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        pytest.skip("this host has one core")

    def one(core: int) -> RunResult:
        folder = tmp_path / str(core)
        (folder / "output").mkdir(parents=True)
        program = "import os, time; print(sorted(os.sched_getaffinity(0))); time.sleep(1)"
        return run(on_host(program, limits=RunLimits(cpus=(core,))), folder)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, cores))
    assert [result.isolation for result in results] == [
        {"backend": "local", "cpus": [core]} for core in cores
    ]
    assert [(tmp_path / str(core) / "stdout.log").read_text() for core in cores] == [
        f"[{c}]\n" for c in cores
    ]


WRITES_TO_ITS_PACKAGE = """
import os, sys
place = os.path.realpath(sys.argv[1])
print(place, flush=True)
with open(f"{place}/one.py", "a") as stream:
    stream.write("planted")
"""


@pytest.fixture
def package(tmp_path: Path) -> Mount:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "one.py").write_text("one\n")
    return Mount(name="code", path=str(tmp_path / "package"), digest=digest_of(tmp_path / "package"))


def places_read(backend: LocalBackend, spec: RunSpec, folders: list[Path]) -> list[tuple[Outcome, Path]]:
    """How each of several runs of a program ended, and where the copy lay that it tried to change."""
    found = []
    for folder in folders:
        (folder / "output").mkdir(parents=True)
        outcome = backend.run(spec, folder, on_tick=lambda: None).outcome
        found.append((outcome, Path((folder / "stdout.log").read_text().strip())))
    return found


def test_confined_programs_share_a_copy_and_cannot_write_to_it(on_host: Spec, package: Mount, tmp_path: Path):
    if not can_confine():
        pytest.skip("the kernel has no landlock")
    runs_dir = tmp_path / "runs"
    backend = LocalBackend(workspace=str(runs_dir))
    command = ("{python}", "-c", WRITES_TO_ITS_PACKAGE, "{code}")
    spec = on_host(command=command, mounts=(package,), confined=True)
    (first, place), (second, again) = places_read(backend, spec, [runs_dir / "r" / "1", runs_dir / "r" / "2"])
    assert (first, second, place) == (Outcome.CRASHED, Outcome.CRASHED, again)
    assert "Permission denied" in (runs_dir / "r" / "2" / "stderr.log").read_text()
    assert (place / "one.py").read_text() == "one\n"
    del backend
    assert sorted(path.name for path in runs_dir.iterdir()) == ["r"]


def test_a_program_that_could_write_to_a_shared_copy_gets_its_own(
    on_host: Spec, package: Mount, tmp_path: Path
):
    spec = on_host(command=("{python}", "-c", WRITES_TO_ITS_PACKAGE, "{code}"), mounts=(package,))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as in_memory:  # confined programs write there
        for runs_dir, one in ((tmp_path / "runs", spec), (Path(in_memory), replace(spec, confined=True))):
            folders = [runs_dir / "r" / "1", runs_dir / "r" / "2"]
            found = places_read(LocalBackend(workspace=str(runs_dir)), one, folders)
            assert [outcome for outcome, _ in found] == [Outcome.MOUNTS_CHANGED] * 2
            assert [place.parent for _, place in found] == [folder / ".mounted" for folder in folders]
