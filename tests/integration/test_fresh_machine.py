"""On a Debian machine with nothing but apt, the project's own steps install all that a container run needs.

The machine is a root file system that mmdebstrap makes, with processes, mounts and engine of its own. It
shares the host's kernel and network, and is told where this host gets its packages from.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from support.minimal_system import minimal_system, output

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

PROJECT = Path(__file__).resolve().parents[2]
# The host's engine has the bridge and the packet filter of the shared network.
ENGINE = {"bridge": "none", "iptables": False, "ip6tables": False}
# Every program outside Debian's minimal system that make, the tool or a test calls.
PROGRAMS = (
    "git",
    "make",
    "python3",
    "ssh-keygen",
    "docker",
    "dockerd",
    "iptables",
    "mmdebstrap",
    "qemu-x86_64",
    "qemu-x86_64-static",
    "chromium",
    "docker-compose",
    "podman",
)
START = """
set -e
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mkdir -p root/.cache/reprokit
mount --bind "$2" root/.cache/reprokit
shift 2
for folder; do mkdir -p "./$folder"; mount --bind -o ro "$folder" "./$folder"; done
echo ready
exec sleep infinity
"""


class Machine:
    """A root file system, and an init process in namespaces of its own whose end ends all others."""

    def __init__(self, root: Path, *, cache: Path, folders: list[str]) -> None:
        self.root = root
        self._holder = subprocess.Popen(
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                START,
                "sh",
                root,
                cache,
                *folders,
            ],
            stdout=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        with self._holder.stdout:
            assert self._holder.stdout.readline() == b"ready\n"
        [self._init] = psutil.Process(self._holder.pid).children()

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        proxies = [f"{name}={value}" for name, value in os.environ.items() if name.lower().endswith("_proxy")]
        return subprocess.run(
            [
                "nsenter",
                f"--target={self._init.pid}",
                "--mount",
                "--pid",
                "chroot",
                self.root,
                "env",
                "-i",
                "-C",
                "/checkout",
                "HOME=/root",
                *proxies,
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                *command,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=1200,  # a step that leaves its output open to the engine would never end
        )

    def succeed(self, *command: str) -> str:
        done = self.call(*command)
        assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout[-6000:]}"
        return done.stdout

    def has(self, program: str) -> bool:
        return self.call("sh", "-c", f"command -v {program}").returncode == 0

    def end(self) -> None:
        """Kill every process; their mounts go with them, and the control groups of their containers."""
        self._init.send_signal(signal.SIGKILL)
        self._holder.wait(60)
        for container in (self.root / "var/lib/docker/containers").glob("*"):
            for group in sorted(Path("/sys/fs/cgroup").glob(f"**/{container.name}"), reverse=True):
                group.rmdir()
        shutil.rmtree(self.root)


@pytest.fixture(scope="module")
def minimal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of Debian's minimal system, of this host's release and from its mirrors."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None or shutil.which("unshare") is None:
        pytest.skip("a machine from nothing needs root, mmdebstrap and unshare")
    return minimal_system(tmp_path_factory.mktemp("minimal") / "root.tar")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first machine downloads for its image, the second need not download again."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=["no client", "a client alone"])
def machine(request: pytest.FixtureRequest, minimal: Path, cache: Path, tmp_path: Path) -> Iterator[Machine]:
    root = tmp_path / "machine"
    root.mkdir()
    output("tar", "--extract", f"--file={minimal}", f"--directory={root}", "--exclude=./dev/*")
    (root / "etc/docker").mkdir()
    (root / "etc/docker/daemon.json").write_text(json.dumps(ENGINE))
    folders = configure_pip(root)
    check_out(root / "checkout")
    if request.param == "a client alone":
        client = shutil.which("docker")
        if client is None:
            pytest.skip("this host has no docker client to copy")
        shutil.copy(client, root / "usr/local/bin/docker")
    fresh = Machine(root, cache=cache, folders=folders)
    try:
        assert fresh.has("docker") is (request.param == "a client alone")
        assert not any(fresh.has(program) for program in PROGRAMS if program != "docker")
        yield fresh
    finally:
        fresh.end()


def configure_pip(root: Path) -> list[str]:
    """Give the machine this host's settings of pip; the local folders that they name."""
    lines = output(sys.executable, "-m", "pip", "config", "list").splitlines()
    read = [(name, ast.literal_eval(value)) for name, _, value in (line.partition("=") for line in lines)]
    read.sort(key=lambda one: one[0].startswith(":env:"))  # which win
    settings = {name.rpartition(".")[2]: " ".join(value.split()) for name, value in read}
    if certificates := settings.get("cert"):
        settings["cert"] = "/etc/pip-certificates.pem"
        shutil.copy(certificates, root / "etc/pip-certificates.pem")
    text = "".join(f"{name} = {value}\n" for name, value in settings.items())
    (root / "etc/pip.conf").write_text(f"[global]\n{text}")
    words = [word for value in settings.values() for word in value.split()]
    # An index in a folder links to packages next to that folder.
    indexes = [str(Path(word.removeprefix("file://")).parent) for word in words if word.startswith("file://")]
    return [*indexes, *(word for word in words if Path(word).is_dir())]


def check_out(folder: Path) -> None:
    """A clone of this checkout, with what was changed or added in it since."""
    output("git", "clone", "--quiet", str(PROJECT), str(folder))
    changed = output(
        "git", "-C", str(PROJECT), "ls-files", "--modified", "--others", "--exclude-standard", "-z"
    )
    for name in filter(None, changed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # deleted
            shutil.copy(PROJECT / name, folder / name)


def test_the_steps_of_the_project_bring_a_machine_from_nothing_to_a_container_run(machine: Machine) -> None:
    installed = machine.succeed(".ci/set-up")
    assert "installing" in installed
    assert [program for program in PROGRAMS if not machine.has(program)] == []
    again = machine.succeed(".ci/set-up")
    assert "installing" not in again
    assert "starting" not in again

    machine.succeed("make", "setup")
    assert "Ready." in machine.succeed(".venv/bin/reprokit", "doctor")
    builders = "from reprokit.images.building.builders import available; print(*available())"
    assert machine.succeed(".venv/bin/python", "-c", builders).split() == ["classic", "buildkit"]

    machine.succeed(
        ".venv/bin/reprokit",
        "run",
        "cartpole_baseline",
        "--backend",
        "docker",
        "--set",
        "training.total_timesteps=4096",
    )
    [folder] = (machine.root / "checkout/runs/cartpole_baseline").iterdir()
    assert (folder / "COMPLETE").exists()
    assert json.loads((folder / "run.json").read_text())["isolation"]["backend"] == "docker"
