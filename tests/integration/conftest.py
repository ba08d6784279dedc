"""What tests against real engines and processes share: a small image, run folders, a tool to kill.

The image is packed from this host's own Python, so that it takes seconds and no network.
``REPROKIT_REQUIRE_ENGINE=1`` turns "no engine, so skipped" into a failure.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import docker
import docker.errors
import psutil
import pytest

import reprokit
from reprokit.core.records import Realisation, RunSpec, to_json
from reprokit.execution.docker import engine_status
from reprokit.execution.docker_engine import connect
from reprokit.execution.docker_orphans import WORKSPACE_LABEL
from support.wheel_environments import built_wheel

PYTHON = Path("/opt/python/bin/python3")
SOURCE = Path(reprokit.__file__).parent.parent

# What a person starts: it runs one program, and is there to be interrupted and killed.
TOOL = """
import json, signal, sys
from pathlib import Path
import docker
from reprokit.core.records import Realisation, RunLimits, RunSpec, to_json

plan = json.load(open(sys.argv[1]))
spec = plan["spec"]
spec = RunSpec(**{
    **spec,
    "command": tuple(spec["command"]),
    "realisation": Realisation(**spec["realisation"]),
    "limits": RunLimits(),
    "mounts": (),
})
if spec.realisation.kind == "image":
    from reprokit.execution.docker import DockerBackend
    from reprokit.execution.docker_engine import connect
    factory = (lambda: docker.DockerClient(base_url=plan["host"])) if plan["host"] else connect
    backend = DockerBackend(workspace=plan["workspace"], client_factory=factory)
else:
    from reprokit.execution.local import LocalBackend
    backend = LocalBackend()

def terminate(number, frame):
    raise SystemExit(143)

signal.signal(signal.SIGTERM, terminate)
print("ready", flush=True)
result = backend.run(spec, Path(plan["run_dir"]), on_tick=lambda: None)
print(json.dumps(to_json(result)), flush=True)
"""


@pytest.fixture(scope="session")
def engine() -> Iterator[docker.DockerClient]:
    """The engine of this host."""
    status = engine_status()
    if not status.reachable:
        reason = f"{status.error}. {status.remedy}"
        if os.environ.get("REPROKIT_REQUIRE_ENGINE") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    client = connect()
    yield client
    client.close()


def pack_programs(
    archive: Path, files: Mapping[str, str], *, folders: Mapping[str, str] | None = None
) -> None:
    """The files of a small image: programs of this host and the libraries that they load.

    Args:
        archive: Where to write the tar file.
        files: Path in the image → program on this host.
        folders: Path in the image → folder on this host; what is named after tests is left out.
    """
    extensions = [
        str(path) for folder in (folders or {}).values() for path in Path(folder).glob("lib-dynload/*.so")
    ]
    loads = subprocess.run(["ldd", *files.values(), *extensions], capture_output=True, text=True, check=True)
    libraries = {path: path for path in re.findall(r"(/\S+) \(0x", loads.stdout)}
    with tarfile.open(archive, "w", dereference=True) as tar:
        for name, path in {**libraries, "/etc/passwd": "/etc/passwd", **files}.items():
            tar.add(path, arcname=name)
        for name, path in (folders or {}).items():
            tar.add(path, arcname=name, filter=_without_ballast)


def _without_ballast(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    ballast = {
        "test",
        "tests",
        "idlelib",
        "lib2to3",
        "tkinter",
        "ensurepip",
        "site-packages",
        "dist-packages",
    }
    name = Path(member.name).name
    return None if name in ballast or name.startswith(("config-", "_test", "_tkinter")) else member


@pytest.fixture(scope="session")
def python_image(engine: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """ID of a small image with this host's Python at ``PYTHON`` and ``/bin/echo``; removed afterwards."""
    archive = tmp_path_factory.mktemp("image") / "base.tar"
    python = str(Path(sys.executable).resolve())
    library = sysconfig.get_path("stdlib")
    in_image = PYTHON.parent.parent / "lib" / Path(library).name
    programs = {"/bin/echo": "/bin/echo", str(PYTHON): python}
    pack_programs(archive, programs, folders={str(in_image): library})
    tag = uuid.uuid4().hex[:12]
    engine.api.import_image_from_file(str(archive), repository="reprokit-test-base", tag=tag)
    archive.unlink()
    yield str(engine.images.get(f"reprokit-test-base:{tag}").id)
    engine.images.remove(f"reprokit-test-base:{tag}", force=True)


@pytest.fixture(scope="session")
def shell_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a tiny image: a shell and ``sleep``."""
    archive = tmp_path_factory.mktemp("image") / "shell.tar"
    pack_programs(archive, {path: path for path in ("/bin/sh", "/bin/sleep")})
    return archive


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run folder as the harness makes one."""
    folder = tmp_path / "runs" / "recipe" / "run-1"
    (folder / "output").mkdir(parents=True)
    return folder


@pytest.fixture
def workspace() -> str:
    """A workspace that no other test and no person uses."""
    return f"/reprokit-test/{uuid.uuid4().hex}"


@pytest.fixture
def in_container(python_image: str) -> Callable[..., RunSpec]:
    """Makes the specification of a run in the small image: ``in_container("print(1)", …)``."""

    def make(program: str = "pass", **changes: Any) -> RunSpec:
        realisation = Realisation(
            variant="cpu",
            kind="image",
            reference=python_image,
            digest=python_image,
            python=str(PYTHON),
            lock_digest="sha256:0",
        )
        given = {"command": ("{python}", "-c", program), "realisation": realisation, **changes}
        return RunSpec(recipe="recipe", run_id="run-1", seed=7, **{"device": "cpu", **given})

    return make


@pytest.fixture
def on_host() -> Callable[..., RunSpec]:
    """Makes the specification of a run in this Python: ``on_host("print(1)", …)``."""

    def make(program: str = "pass", **changes: Any) -> RunSpec:
        realisation = Realisation(
            variant="cpu",
            kind="venv",
            reference=sys.prefix,
            digest="sha256:0",
            python=sys.executable,
            lock_digest="sha256:0",
        )
        given = {"command": ("{python}", "-c", program), "realisation": realisation, **changes}
        return RunSpec(recipe="recipe", run_id="run-1", seed=7, device="cpu", **given)

    return make


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where a started tool puts its temporary folders."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def start_tool(tmp_path: Path, scratch: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that runs a specification through a backend, and answers with its result."""
    started: list[subprocess.Popen[str]] = []

    def start(spec: RunSpec, run_dir: Path, *, host: str = "", workspace: str = "") -> subprocess.Popen[str]:
        plan = tmp_path / f"plan-{len(started)}.json"
        plan.write_text(
            json.dumps(
                {
                    "spec": {
                        "recipe": spec.recipe,
                        "run_id": spec.run_id,
                        "seed": spec.seed,
                        "device": spec.device,
                        "command": spec.command,
                        "realisation": to_json(spec.realisation),
                    },
                    "run_dir": str(run_dir),
                    "host": host,
                    "workspace": workspace,
                }
            )
        )
        tool = subprocess.Popen(
            [sys.executable, "-c", TOOL, str(plan)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(scratch)},
            start_new_session=True,
        )
        started.append(tool)
        assert tool.stdout is not None
        assert tool.stdout.readline() == "ready\n"
        return tool

    yield start
    for tool in started:
        tool.kill()
        tool.communicate()


@pytest.fixture
def containers_of(engine: docker.DockerClient) -> Callable[[str], list[str]]:
    """Names the containers of a workspace, in whatever state."""

    def names(workspace: str) -> list[str]:
        filters = {"label": [f"{WORKSPACE_LABEL}={workspace}"]}
        return [
            found["Names"][0].removeprefix("/") for found in engine.api.containers(all=True, filters=filters)
        ]

    return names


@pytest.fixture
def mounted_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts an empty file system with the options of a tmpfs: ``mounted_disk("size=1m")``."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / f"disk-{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "reprokit-test", str(folder)]
        done = subprocess.run(command, check=False, capture_output=True)
        if done.returncode:
            pytest.skip(f"cannot mount a small file system here: {done.stderr.decode().strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def small_disk(mounted_disk: Callable[[str], Path]) -> Path:
    """A run folder on a file system of one megabyte and 64 files."""
    folder = mounted_disk("size=1m,nr_inodes=64")
    (folder / "output").mkdir()
    return folder


class PrivateEngine:
    """An engine of the test's own, to be stopped and killed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.host = f"unix://{folder}/s"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        # a killed engine leaves the number of its helper, which a killed helper may still hold
        (self._folder / "exec/containerd/containerd.pid").unlink(missing_ok=True)
        (self._folder / "s").unlink(missing_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    # a network of its own: "--bridge=none" takes down the bridge of every other engine
                    "unshare",
                    "--net",
                    "dockerd",
                    f"--data-root={self._folder}/data",
                    f"--exec-root={self._folder}/exec",
                    f"--pidfile={self._folder}/pid",
                    f"--host={self.host}",
                    "--bridge=none",
                    "--iptables=false",
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while not self._listens():
            assert time.monotonic() < deadline, f"the engine did not start: {self._folder}/log"
            time.sleep(0.02)
        with contextlib.closing(self.client()) as client:
            client.ping()  # answered when the engine has begun its work

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()[-2000:]
        with socket.socket(socket.AF_UNIX) as door:
            return door.connect_ex(str(self._folder / "s")) == 0

    def client(self) -> docker.DockerClient:
        return docker.DockerClient(base_url=self.host, timeout=60)

    def end(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(60)
        with contextlib.suppress(FileNotFoundError, ValueError, psutil.NoSuchProcess):
            helper = psutil.Process(int((self._folder / "exec/containerd/containerd.pid").read_text()))
            deadline = time.monotonic() + 60
            while helper.is_running() and helper.status() != psutil.STATUS_ZOMBIE:
                assert time.monotonic() < deadline, "the engine's helper does not end"
                time.sleep(0.02)


@pytest.fixture(scope="module")
def second_engine() -> Iterator[PrivateEngine]:
    """An engine that a test may stop and kill; its containers and images go with it."""
    if os.getuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("a second engine needs root and dockerd")
    folder = Path(tempfile.mkdtemp(prefix="rk"))  # short: a socket's name has about a hundred characters
    private = PrivateEngine(folder)
    private.start()
    yield private
    with contextlib.suppress(docker.errors.DockerException), contextlib.closing(private.client()) as client:
        for container in client.containers.list(all=True):  # what a test that failed left
            container.remove(force=True)
    private.end(signal.SIGTERM)
    for line in Path("/proc/mounts").read_text().splitlines()[::-1]:
        if line.split()[1].startswith(str(folder)):  # a killed engine leaves its mounts
            subprocess.run(["umount", "--lazy", line.split()[1]], check=True)
    shutil.rmtree(folder)
    with warnings.catch_warnings():  # the SDK leaks its socket when an engine dies while it is asked
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def wheel(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    return built_wheel(project, tmp_path_factory.mktemp("wheel"))
