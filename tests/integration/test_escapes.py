"""Thirty ways out of a container, tried from inside a run: each one stopped, each one told.

One program tries them all and says of each what it ran into. Every probe is harmless where it gets
through, and the same program in a container that was opened on purpose shows that it would: a probe
that cannot get through anywhere proves nothing. Only those of a kernel that has nothing to offer
stay closed there.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import docker
import pytest

from reprokit.core.records import Mount, RunLimits, RunResult
from reprokit.execution.docker import DockerBackend

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="the probes name system calls by x86_64's numbers"
    ),
]

SECRET = "reprokit-test-0f9a"  # noqa: S105  (made up; it must never be seen inside)
PIDS = 64

# One program, in the words of the kernel's own interface, so lines are as long as its tables are.
# ruff: noqa: E501
PROBES = r'''
import ctypes, errno, glob, json, os, resource, socket, stat, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
OTHER, SECRET, PYTHON, RUN_DIR = sys.argv[1:5]

def call(number, *arguments):
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), *arguments) == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))

def permitted(number, *arguments):
    """A call that is sure to be refused as nonsense, unless it is refused for want of a right before."""
    try:
        call(number, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
            raise

def write(path):
    with open(path, "a"):
        pass

def first_byte(path):
    with open(path, "rb") as stream:
        if not stream.read(1):
            raise OSError(errno.ENODATA, "masked: nothing in it")

def some(paths, act):
    paths = [path for pattern in paths for path in glob.glob(pattern)]
    if not paths:
        raise FileNotFoundError(errno.ENOENT, "no such thing here")
    failures = []
    for path in paths:
        try:
            return act(path)
        except OSError as error:
            failures.append(error)
    raise failures[0]

def seen(where):
    with open(where, "rb") as stream:
        if SECRET.encode() not in stream.read():
            raise LookupError("no secret there")

def fork_bomb():
    children = []
    try:
        while len(children) < 200:
            child = os.fork()
            if not child:
                signal_free_wait()
            children.append(child)
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)

def signal_free_wait():
    while True:
        libc.pause()

def connect_out():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(("192.0.2.1", 53))  # of no one (RFC 5737); a route is all that is asked for

def other_interfaces():
    if {name for _, name in socket.if_nameindex()} <= {"lo"}:
        raise OSError(errno.ENODEV, "loopback alone")

def raw(family, protocol):
    socket.socket(family, socket.SOCK_RAW, protocol).close()

def abstract_sockets():
    with open("/proc/net/unix") as stream:
        if not [line for line in stream if line.rstrip().split()[-1].startswith("@")]:
            raise LookupError("no socket of the host's")

def become_root():
    os.setresuid(0, 0, 0)
    os.setresgid(0, 0, 0)

def setuid_program():
    with open("/proc/self/status") as stream:
        if "NoNewPrivs:\t1" in stream.read():
            raise PermissionError(errno.EPERM, "no-new-privileges: a setuid program gives nothing")

def run_from_tmp():
    path = "/tmp/probe.sh"
    with open(path, "w") as stream:
        stream.write("#!/bin/sh\nexit 0\n")
    os.chmod(path, 0o755)
    child = os.fork()
    if not child:
        try:
            os.execv(path, [path])
        except PermissionError:
            os._exit(13)
        except OSError:
            os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 13:
        raise PermissionError(errno.EACCES, "nothing in /tmp can be run")

def device_node():
    path = "/tmp/probe-device"
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(8, 0))
    os.unlink(path)

def mount():
    os.makedirs("/tmp/probe-mount", exist_ok=True)
    if libc.mount(b"none", b"/tmp/probe-mount", b"tmpfs", 0, None):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    libc.umount(b"/tmp/probe-mount")

def enter_host(pid=1):
    if os.readlink("/proc/self/ns/mnt") != os.readlink(f"/proc/{pid}/ns/mnt"):
        return
    raise LookupError("process 1 is the container's own")

def other_processes():
    mine = {str(os.getpid()), str(os.getppid()), "1"}
    if {name for name in os.listdir("/proc") if name.isdigit()} <= mine:
        raise LookupError("no process but this program's own")

def raise_limit():
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20))

NOTHING = ctypes.c_char_p(None)
PROBE = {
    "write to the root": lambda: write("/escaped"),
    "write to the code": lambda: write("/mnt/reprokit/code/hello"),
    "change the interpreter": lambda: write(PYTHON),
    "change the list of users": lambda: write("/etc/passwd"),
    "network: a route": connect_out,
    "network: an interface": other_interfaces,
    "network: raw socket": lambda: raw(socket.AF_INET, socket.IPPROTO_ICMP),
    "network: packet socket": lambda: raw(socket.AF_PACKET, 3),
    "network: sockets of the host": abstract_sockets,
    "fork bomb": fork_bomb,
    "mount": mount,
    "chroot": lambda: os.chroot("/tmp"),
    "become root": become_root,
    "setuid program": setuid_program,
    "run from /tmp": run_from_tmp,
    "another run's folder": lambda: some([OTHER + "/*"], first_byte),
    "the folder above": lambda: some([RUN_DIR + "/../*/metrics.jsonl"], first_byte),
    "the engine's socket": lambda: some(["/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"], os.stat),
    "secret in a variable": lambda: seen("/proc/self/environ"),
    "secret of process 1": lambda: seen("/proc/1/environ"),
    "make a device node": device_node,
    "a disk of the host": lambda: some(["/dev/sd*", "/dev/vd*", "/dev/nvme*", "/dev/mem"], first_byte),
    "the kernel's log": lambda: call(103, ctypes.c_int(2), ctypes.create_string_buffer(1), ctypes.c_int(0)),
    "kernel memory": lambda: first_byte("/proc/kcore"),
    "kernel keyring: add": lambda: call(248, b"user", b"reprokit-probe", b"x", ctypes.c_size_t(1), ctypes.c_int(-2)),
    "kernel keyring: read": lambda: call(250, ctypes.c_int(0), ctypes.c_int(-3), ctypes.c_int(0)),
    "kernel settings": lambda: write("/proc/sys/kernel/core_pattern"),
    "kernel module": lambda: permitted(175, NOTHING, ctypes.c_ulong(0), NOTHING),
    "kernel programs (bpf)": lambda: permitted(321, ctypes.c_int(0), NOTHING, ctypes.c_uint(0)),
    "performance counters": lambda: permitted(298, NOTHING, ctypes.c_int(0), ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_ulong(0)),
    "new user namespace": lambda: call(272, ctypes.c_int(0x10000000)),
    "join a namespace": lambda: permitted(308, ctypes.c_int(-1), ctypes.c_int(0)),
    "reboot": lambda: permitted(169, ctypes.c_int(0), ctypes.c_int(0), ctypes.c_int(0), NOTHING),
    "host's clock": lambda: permitted(227, ctypes.c_int(0), NOTHING),
    "control groups": lambda: some(["/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/*/notify_on_release", "/sys/fs/cgroup/pids.max"], write),
    "raise a limit": raise_limit,
    "processes of others": other_processes,
    "process 1 of the host": enter_host,
}
told = {}
order = sorted(PROBE, key=lambda name: name in ("become root", "chroot", "new user namespace"))
for name in order:
    child_out, parent_in = os.pipe()
    child = os.fork()
    if not child:
        try:
            PROBE[name]()
            answer = {"stopped": False, "by": ""}
        except (OSError, LookupError, ValueError) as error:
            answer = {"stopped": True, "by": f"{type(error).__name__}: {error}"}
        except BaseException as error:
            answer = {"stopped": False, "by": f"the probe itself failed: {error!r}"}
        os.write(parent_in, json.dumps(answer).encode())
        os._exit(0)
    os.close(parent_in)
    with os.fdopen(child_out) as stream:
        told[name] = json.loads(stream.read() or '{"stopped": false, "by": "the probe died"}')
    os.waitpid(child, 0)
with open(RUN_DIR + "/probes.json", "w") as stream:
    json.dump(told, stream)
'''

#: What even a container that was opened on purpose does not get: the engine masks it, or nothing is there.
CLOSED_ANYWAY = {
    "a disk of the host",
    "control groups",
    "kernel settings",
    "kernel memory",
    "process 1 of the host",
    "processes of others",
    "network: sockets of the host",
    "another run's folder",
    "the folder above",
    "change the interpreter",
    "secret of process 1",
    "kernel module",
}


#: What needs more than an engine can give that is short of it itself: probe → its number in the kernel.
CAPABILITIES = {
    "kernel module": ("SYS_MODULE", 16),
    "mount": ("SYS_ADMIN", 21),
    "reboot": ("SYS_BOOT", 22),
    "raise a limit": ("SYS_RESOURCE", 24),
    "host's clock": ("SYS_TIME", 25),
    "the kernel's log": ("SYSLOG", 34),
    "performance counters": ("SYS_ADMIN", 21),
    "kernel programs (bpf)": ("SYS_ADMIN", 21),
}


def on_this_host() -> dict[str, str]:
    """Probe → the capability that it needs, for those that this host has to give."""
    status = Path("/proc/self/status").read_text()
    bounding = int(status.partition("CapBnd:")[2].split()[0], 16)
    return {probe: name for probe, (name, bit) in CAPABILITIES.items() if bounding >> bit & 1}


@pytest.fixture
def neighbour(tmp_path: Path) -> Path:
    """The folder of another run, next to this one."""
    folder = tmp_path / "runs" / "recipe" / "run-0"
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text('{"step": 1}\n')
    return folder


def hardened(in_container, run_dir, neighbour, workspace, monkeypatch) -> tuple[dict, RunResult]:
    monkeypatch.setenv("REPROKIT_TEST_SECRET", SECRET)
    code = run_dir.parent / "code"
    code.mkdir()
    (code / "hello").write_text("hello")
    spec = in_container(
        command=("{python}", "-c", PROBES, str(neighbour), SECRET, "{python}", "{run_dir}"),
        mounts=(Mount(name="code", path=str(code)),),
        limits=RunLimits(pids=PIDS, timeout_s=120),
    )
    result = DockerBackend(workspace=workspace).run(spec, run_dir, on_tick=lambda: None)
    assert result.completed, (run_dir / "stderr.log").read_text()
    return json.loads((run_dir / "output" / "probes.json").read_text()), result


def test_every_way_out_is_stopped_and_told(in_container, run_dir, neighbour, workspace, monkeypatch):
    told, result = hardened(in_container, run_dir, neighbour, workspace, monkeypatch)
    assert len(told) >= 30
    through = {name: one["by"] for name, one in told.items() if not one["stopped"]}
    # The name of the neighbour and the secret are in this program's own command line, not its conditions.
    assert not through
    assert all(one["by"] for one in told.values())
    assert "Resource temporarily unavailable" in told["fork bomb"]["by"]
    is_confined(result)


def is_confined(result: RunResult) -> None:
    """The run's own record names what stopped them, by the engine's account."""
    told = result.isolation
    assert told["network"] == "none"
    assert told["read_only_root"] is True
    assert told["capabilities"] == {"dropped": ["ALL"], "added": []}
    assert told["no_new_privileges"] is True
    assert told["pids_limit"] == PIDS
    assert told["writable"] == ["/run_dir"]
    assert told["privileged"] is False
    assert told["user"].split(":")[0] not in {"0", "root"} or told["rootless"]
    assert "seccomp" in told["security_options"]


@pytest.fixture
def opened(engine: docker.DockerClient, python_image: str, tmp_path: Path) -> dict:
    """What the same program says in a container that was opened on purpose."""
    run_dir = tmp_path / "open" / "run"
    code = tmp_path / "open" / "code"
    for folder in (run_dir, code):
        folder.mkdir(parents=True)
    socket = tmp_path / "open" / "docker.sock"
    socket.write_text("")
    engine.containers.run(
        python_image,
        ["/opt/python/bin/python3", "-c", PROBES, "/nowhere", SECRET, "/opt/python/bin/python3", "/run_dir"],
        environment={"TOKEN": SECRET},
        cap_add=sorted(set(on_this_host().values())),
        security_opt=["seccomp=unconfined"],
        user="0",
        remove=True,
        ulimits=[docker.types.Ulimit(name="core", soft=0, hard=-1)],
        volumes={
            str(run_dir): {"bind": "/run_dir"},
            str(code): {"bind": "/mnt/reprokit/code"},
            str(socket): {"bind": "/var/run/docker.sock"},
        },
    )
    return json.loads((run_dir / "probes.json").read_text())


def test_the_probes_get_through_where_a_container_is_open(opened):
    stopped = {name: one["by"] for name, one in opened.items() if one["stopped"]}
    short_of = set(CAPABILITIES) - set(on_this_host())
    assert set(stopped) <= CLOSED_ANYWAY | short_of, stopped
    assert len(opened) - len(stopped) >= 20


def test_the_secret_is_this_process_s_to_lose(monkeypatch):
    """Else "no secret there" would be no news."""
    monkeypatch.setenv("REPROKIT_TEST_SECRET", SECRET)
    assert SECRET in os.environ.values()
