"""Runs in real containers: what confines them, and every way to fail told from the others."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import docker
import pytest

from reprokit.core.records import Mount, Outcome, RunLimits, RunResult, RunSpec
from reprokit.execution.docker import DockerBackend, engine_status
from reprokit.execution.source_files import digest_of

pytestmark = pytest.mark.engine

Spec = Callable[..., RunSpec]
Run = Callable[..., RunResult]
INSIDE = """
import json, os, resource, sys
status = dict(line.rstrip().split(":\\t", 1) for line in open("/proc/self/status"))
def refused(action):
    try:
        action()
    except OSError as error:
        return error.errno
    return None
json.dump({
    "argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "stdin": sys.stdin.read(),
    "uid": os.getuid(), "gid": os.getgid(), "hostname": os.uname().nodename,
    "cap_eff": int(status["CapEff"], 16), "cap_bnd": int(status["CapBnd"], 16),
    "no_new_privs": status["NoNewPrivs"], "affinity": sorted(os.sched_getaffinity(0)),
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "interfaces": sorted(os.listdir("/sys/class/net")),
    "write_root": refused(lambda: open("/x", "w")),
    "write_mount": refused(lambda: open("/mnt/reprokit/code/x", "w")),
    "write_tmp": refused(lambda: open("/tmp/x", "w")),
    "write_output": refused(lambda: open("/run_dir/x", "w")),
    "code": open("/mnt/reprokit/code/hello").read(),
    "mount_options": [line.split()[3] for line in open("/proc/mounts") if line.split()[1] == "/tmp"][0],
}, sys.stdout)
"""


@pytest.fixture
def run(workspace: str, run_dir: Path, containers_of: Callable[[str], list[str]]) -> Run:
    """Run a specification to its end; sees that no container is left."""

    def to_its_end(spec: RunSpec, folder: Path = run_dir) -> RunResult:
        result = DockerBackend(workspace=workspace).run(spec, folder, on_tick=lambda: None)
        assert containers_of(workspace) == []
        return result

    return to_its_end


def test_what_a_program_finds_inside_is_what_was_promised(
    run: Run, run_dir: Path, in_container: Spec, tmp_path: Path
):
    code = tmp_path / "code"
    code.mkdir()
    (code / "hello").write_text("world")
    result = run(
        in_container(
            command=(
                "{python}",
                "-c",
                INSIDE,
                "{seed}",
                "{device}",
                "{run_dir}",
                "{code}",
                "{mounts}",
                '{"a": 1}',
            ),
            environment={"PYTHONPATH": "{mounts}"},
            mounts=(Mount(name="code", path=str(code)),),
            limits=RunLimits(cpus=(0,)),
        )
    )
    assert result.completed, (run_dir / "stderr.log").read_text()
    seen = json.loads((run_dir / "stdout.log").read_text())
    caller = (os.getuid(), os.getgid()) if os.getuid() else (65532, 65532)
    assert (seen["uid"], seen["gid"]) == caller
    assert seen["argv"] == ["7", "cpu", "/run_dir", "/mnt/reprokit/code", "/mnt/reprokit", '{"a": 1}']
    assert seen["env"]["PYTHONPATH"] == "/mnt/reprokit"
    assert (seen["env"]["TZ"], seen["env"]["LC_ALL"], seen["env"]["TMPDIR"]) == ("UTC", "C.UTF-8", "/tmp")
    assert (seen["cwd"], seen["hostname"], seen["stdin"]) == ("/run_dir", "reprokit", "")
    assert (seen["cap_eff"], seen["cap_bnd"], seen["no_new_privs"]) == (0, 0, "1")
    assert seen["interfaces"] == ["lo"]
    assert (seen["affinity"], seen["core"]) == ([0], [0, 0])
    assert (seen["write_root"], seen["write_mount"]) == (30, 30)
    assert (seen["write_tmp"], seen["write_output"]) == (None, None)
    assert {"noexec", "nosuid", "nodev", "size=1048576k"} <= set(seen["mount_options"].split(","))
    assert seen["code"] == "world"


def test_the_engine_reports_every_confinement(run: Run, in_container: Spec, python_image: str):
    found = run(in_container()).isolation
    assert found["backend"] == "docker"
    assert found["image"] == python_image
    assert found["network"] == "none"
    assert found["read_only_root"] is True
    assert found["capabilities"] == {"dropped": ["ALL"], "added": []}
    assert found["no_new_privileges"] is True
    assert found["privileged"] is False
    assert found["init"] is True
    assert found["ipc"] == "private"
    assert found["pids_limit"] == 512
    assert found["memory_bytes"] == found["memory_and_swap_bytes"] == 8 << 30
    assert found["writable"] == ["/run_dir"]
    assert found["log_driver"] == "none"
    assert found["relaxations"] == []


def test_what_the_program_writes_can_be_read_and_moved_by_the_caller(
    run: Run, run_dir: Path, in_container: Spec
):
    program = "import os; os.makedirs('{run_dir}/a/b'); open('{run_dir}/a/b/c', 'w').write('done')"
    assert run(in_container(program)).completed
    (run_dir / "output" / "a").rename(run_dir / "a")
    assert (run_dir / "a" / "b" / "c").read_text() == "done"


def test_both_streams_arrive_whole_and_separated(run: Run, run_dir: Path, in_container: Spec):
    program = """
import os, random
random.seed(1)
for _ in range(200):
    os.write(1, random.randbytes(100_000))
    os.write(2, random.randbytes(1_000))
"""
    assert run(in_container(program)).completed
    random.seed(1)
    expected = [(random.randbytes(100_000), random.randbytes(1_000)) for _ in range(200)]
    for name, parts in zip(("stdout.log", "stderr.log"), zip(*expected, strict=True), strict=True):
        data = (run_dir / name).read_bytes()
        assert len(data) == sum(map(len, parts))
        assert hashlib.sha256(data).digest() == hashlib.sha256(b"".join(parts)).digest()


def test_the_first_words_are_never_lost(run: Run, run_dir: Path, in_container: Spec):
    for _ in range(10):
        assert run(in_container(command=("/bin/echo", "{seed}"))).completed
        assert (run_dir / "stdout.log").read_bytes() == b"7\n"


@pytest.mark.slow
def test_a_program_that_is_silent_longer_than_the_clients_patience_is_still_heard(
    workspace: str, run_dir: Path, in_container: Spec
):
    backend = DockerBackend(workspace=workspace, client_factory=lambda: docker.from_env(timeout=1))
    spec = in_container("import time; time.sleep(3); print('still here')")
    assert backend.run(spec, run_dir, on_tick=lambda: None).completed
    assert (run_dir / "stdout.log").read_bytes() == b"still here\n"


def test_a_program_that_closes_its_streams_is_waited_for(run: Run, run_dir: Path, in_container: Spec):
    program = """
import os, time
os.close(1); os.close(2)
time.sleep(1)
open('/run_dir/done', 'w').close()
"""
    assert run(in_container(program)).completed
    assert (run_dir / "output" / "done").exists()


def test_a_crash_names_the_exception(run: Run, in_container: Spec):
    result = run(in_container("raise ValueError('bad shape')"))
    assert (result.outcome, result.exit_code) == (Outcome.CRASHED, 1)
    assert result.message.startswith("the program ended with exit code 1: ValueError: bad shape")


def test_a_signal_is_named(run: Run, in_container: Spec):
    result = run(in_container("import os; os.kill(os.getpid(), 11)"))
    assert (result.outcome, result.exit_code, result.signal) == (Outcome.SIGNALLED, None, "SIGSEGV")


GREEDY = "x = bytearray(200 << 20); [x.__setitem__(i, 1) for i in range(0, len(x), 4096)]"


@pytest.mark.parametrize(
    "program",
    [
        GREEDY,
        f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {GREEDY!r}]) != 0)",
    ],
    ids=["the program itself", "a child of the program"],
)
def test_running_out_of_memory_is_told_from_a_kill(run: Run, in_container: Spec, program: str):
    result = run(in_container(program, limits=RunLimits(memory_bytes=64 << 20)))
    assert result.outcome is Outcome.OUT_OF_MEMORY
    assert "64.0 MiB" in result.message


def test_a_child_killed_for_lack_of_memory_is_told_though_the_program_ends_with_0(
    run: Run, in_container: Spec
):
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {GREEDY!r}]); print('went on')"
    result = run(in_container(program, limits=RunLimits(memory_bytes=64 << 20)))
    assert (result.outcome, result.exit_code) == (Outcome.OUT_OF_MEMORY, 0)
    assert "limit of 64.0 MiB was reached, though the program ended with exit code 0" in result.message


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="this user may not read the kernel's log")
def test_a_kill_while_another_container_runs_out_of_memory_is_no_memory_trouble(
    run: Run, run_dir: Path, in_container: Spec, workspace: str, tmp_path: Path
):
    other = tmp_path / "other"
    (other / "output").mkdir(parents=True)
    is_over, begun = run_dir / "output" / "other-is-over", run_dir / "output" / "begun"

    def run_out_of_memory() -> RunResult:
        while not begun.exists():
            time.sleep(0.05)
        spec = in_container(GREEDY, limits=RunLimits(memory_bytes=64 << 20))
        try:
            return DockerBackend(workspace=f"{workspace}-other").run(spec, other, on_tick=lambda: None)
        finally:
            is_over.touch()

    with ThreadPoolExecutor() as pool:
        others = pool.submit(run_out_of_memory)
        result = run(
            in_container(
                "import os, time\n"
                "open('/run_dir/begun', 'w').close()\n"
                "while not os.path.exists('/run_dir/other-is-over'): time.sleep(0.05)\n"
                "os.kill(os.getpid(), 9)"
            )
        )
    assert others.result().outcome is Outcome.OUT_OF_MEMORY
    assert (result.outcome, result.signal) == (Outcome.SIGNALLED, "SIGKILL")


def test_a_kill_from_inside_is_no_memory_trouble(run: Run, in_container: Spec):
    result = run(in_container("import os; os.kill(os.getpid(), 9)"))
    assert (result.outcome, result.signal) == (Outcome.SIGNALLED, "SIGKILL")


def test_too_long_is_stopped(run: Run, in_container: Spec, run_dir: Path):
    spec = in_container(
        "import time; print('begun', flush=True); time.sleep(600)", limits=RunLimits(timeout_s=3)
    )
    assert run(spec).outcome is Outcome.TIMED_OUT
    assert (run_dir / "stdout.log").read_bytes() == b"begun\n"


@pytest.mark.parametrize("command", ["not-there", "/etc/passwd"])
def test_a_missing_command_is_named(run: Run, in_container: Spec, command: str):
    result = run(in_container(command=(command,)))
    assert result.outcome is Outcome.COMMAND_MISSING
    assert repr(command) in result.message


def test_too_many_processes_are_stopped_by_the_limit(run: Run, in_container: Spec, run_dir: Path):
    program = """
import os, time
for n in range(100):
    try:
        if os.fork() == 0:
            time.sleep(60)
    except OSError as error:
        print(error.errno, n < 20)
        break
"""
    assert run(in_container(program, limits=RunLimits(pids=16))).completed
    assert (run_dir / "stdout.log").read_bytes() == b"11 True\n"


def test_a_missing_image_is_told_with_how_to_build_it(run: Run, in_container: Spec):
    spec = in_container()
    assert spec.realisation is not None
    gone = replace(spec.realisation, reference="sha256:" + "0" * 64)
    result = run(replace(spec, realisation=gone))
    assert result.outcome is Outcome.IMAGE_MISSING


def test_cores_that_the_host_has_not_are_refused(run: Run, in_container: Spec):
    result = run(in_container(limits=RunLimits(cpus=(4095,))))
    assert result.outcome is Outcome.START_REFUSED
    assert "4095" in result.message


def test_a_mount_that_is_not_there_is_refused_and_not_made(run: Run, in_container: Spec, tmp_path: Path):
    path = tmp_path / "nowhere"
    result = run(in_container(mounts=(Mount(name="code", path=str(path)),)))
    assert result.outcome is Outcome.START_REFUSED
    assert str(path) in result.message
    assert not path.exists()


def test_a_disk_that_the_program_fills_is_full(run: Run, in_container: Spec, small_disk: Path):
    program = "open('{run_dir}/weights', 'wb').write(bytes(2 << 20))"
    result = run(in_container(program), small_disk)
    assert result.outcome is Outcome.DISK_FULL
    assert "no space left" in result.message.lower()


def test_a_disk_that_the_logs_fill_is_full_and_the_program_stopped(
    run: Run, in_container: Spec, small_disk: Path
):
    result = run(in_container("while True: print('x' * 1000)"), small_disk)
    assert result.outcome is Outcome.DISK_FULL
    assert "stdout.log" in result.message


def test_a_read_only_run_folder_is_told_before_anything_starts(
    run: Run, in_container: Spec, small_disk: Path
):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert run(in_container(), small_disk).outcome is Outcome.RUN_FOLDER_NOT_WRITABLE


def test_two_runs_side_by_side_keep_to_their_own_cores(
    workspace: str, in_container: Spec, tmp_path: Path, containers_of: Callable[[str], list[str]]
):
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        pytest.skip("this host has one core")
    backend = DockerBackend(workspace=workspace)
    meeting = threading.Barrier(2, timeout=60)

    def one(core: int) -> RunResult:
        folder = tmp_path / str(core)
        (folder / "output").mkdir(parents=True)
        spec = in_container(
            "import os, time; print(sorted(os.sched_getaffinity(0))); time.sleep(2)",
            limits=RunLimits(cpus=(core,)),
        )
        meeting.wait()
        return backend.run(spec, folder, on_tick=lambda: None)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, cores))
    assert all(result.completed for result in results)
    assert [(tmp_path / str(core) / "stdout.log").read_text() for core in cores] == [
        f"[{c}]\n" for c in cores
    ]
    assert containers_of(workspace) == []


@pytest.mark.parametrize("act", ["kill", "remove"])
def test_what_others_do_to_the_container_is_no_lost_engine(
    engine: docker.DockerClient,
    workspace: str,
    run_dir: Path,
    in_container: Spec,
    containers_of: Callable[[str], list[str]],
    act: str,
):
    def interfere() -> None:
        for name in containers_of(workspace):
            if act == "kill":
                engine.api.kill(name)
            else:
                engine.api.remove_container(name, force=True)

    def tick() -> None:
        if (run_dir / "stdout.log").read_bytes():
            interfere()

    spec = in_container("import time; print('begun', flush=True); time.sleep(60)")
    result = DockerBackend(workspace=workspace).run(spec, run_dir, on_tick=tick)
    assert (result.outcome, result.signal) == (Outcome.SIGNALLED, "SIGKILL")


def test_the_engine_says_what_it_is(engine: docker.DockerClient):
    status = engine_status()
    assert status.reachable
    assert status.version == engine.version()["Version"]
    assert status.cgroup_version in {"1", "2"}
    assert status.storage_driver


def test_containers_share_a_copy_and_cannot_write_to_it(workspace: str, in_container: Spec, tmp_path: Path):
    package, runs_dir = tmp_path / "package", tmp_path / "runs"
    package.mkdir()
    (package / "one.py").write_text("one\n")
    mount = Mount(name="code", path=str(package), digest=digest_of(package))
    tries = 'import sys; print(open(sys.argv[1] + "/one.py").read()); open(sys.argv[1] + "/one.py", "w")'
    spec = in_container(command=("{python}", "-c", tries, "{code}"), mounts=(mount,))
    backend = DockerBackend(workspace=str(runs_dir))
    for name in ("1", "2"):
        (runs_dir / name / "output").mkdir(parents=True)
        assert backend.run(spec, runs_dir / name, on_tick=lambda: None).outcome is Outcome.CRASHED
        assert (runs_dir / name / "stdout.log").read_text() == "one\n\n"
        told = (runs_dir / name / "stderr.log").read_text()
        assert "Read-only file system" in told or "Permission denied" in told
    assert len(list(runs_dir.glob(".mounted-*"))) == 1
    del backend
    assert sorted(path.name for path in runs_dir.iterdir()) == ["1", "2"]
