"""Podman's Docker-compatible socket: the same hardened run, the same account of it.

A service of the test's own, with folders of its own. Podman and its init program come from the
distribution: ``apt-get install podman catatonit``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from reprokit import images
from reprokit.checks import hardened
from reprokit.core.records import Realisation, RunSpec
from reprokit.execution.docker import DockerBackend, engine_status
from reprokit.images.building import image_store

TAG = "localhost/reprokit-test-podman:1"
NOBODY = 64_321  # a user that no host has
INIT = "/usr/libexec/podman/catatonit"

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True, kw_only=True)
class Podman:
    """A service of Podman's, and the small image that it holds."""

    host: str
    image: str

    def client(self) -> docker.DockerClient:
        return docker.DockerClient(base_url=self.host, timeout=60)


@pytest.fixture(scope="module")
def podman(shell_archive: Path) -> Iterator[Podman]:
    """The service; its images and containers go with it."""
    if shutil.which("podman") is None or not (Path(INIT).exists() or shutil.which("catatonit")):
        pytest.skip("needs podman and catatonit: apt-get install podman catatonit")
    folder = Path(tempfile.mkdtemp(prefix="rkp"))  # short: a socket's name has about a hundred characters
    command = [
        "podman",
        "--root",
        f"{folder}/root",
        "--runroot",
        f"{folder}/run",
        "--cgroup-manager",
        "cgroupfs",
    ]
    with (folder / "log").open("wb") as log:
        service = subprocess.Popen(
            [*command, "system", "service", "--time", "0", f"unix://{folder}/s"], stdout=log, stderr=log
        )
    try:
        deadline = time.monotonic() + 60
        while not (folder / "s").exists():
            assert service.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, "podman does not start"
            time.sleep(0.1)
        image = import_image(command, shell_archive)
        yield Podman(host=f"unix://{folder}/s", image=image)
    finally:
        service.terminate()
        service.wait(30)
        subprocess.run([*command, "system", "reset", "--force"], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def import_image(command: list[str], archive: Path) -> str:
    done = subprocess.run(
        [*command, "import", "--quiet", archive, TAG], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_podman_is_recognised_and_says_whether_it_is_rootless(podman):
    status = engine_status(client_factory=podman.client)
    assert (status.reachable, status.podman) == (True, True)
    assert status.rootless is (os.getuid() != 0)


@pytest.fixture
def rootless() -> Iterator[str]:
    """The address of a service that a user without rights has started."""
    if os.getuid() != 0 or shutil.which("setpriv") is None or shutil.which("podman") is None:
        pytest.skip("needs podman, setpriv, and root to become another user")
    folder = Path(tempfile.mkdtemp(prefix="rkr"))
    for path in (folder, folder / "run"):
        path.mkdir(exist_ok=True, mode=0o700)
        os.chown(path, NOBODY, NOBODY)
    service = subprocess.Popen(
        [
            "setpriv",
            f"--reuid={NOBODY}",
            f"--regid={NOBODY}",
            "--clear-groups",
            "podman",
            "--root",
            f"{folder}/root",
            "--runroot",
            f"{folder}/rr",
            "--storage-driver",
            "vfs",
            "--cgroup-manager",
            "cgroupfs",
            "system",
            "service",
            "--time",
            "0",
            f"unix://{folder}/s",
        ],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": f"{folder}/run"},
    )
    try:
        deadline = time.monotonic() + 60
        while not (folder / "s").exists():
            assert service.poll() is None, "podman does not start"
            assert time.monotonic() < deadline, "podman does not start"
            time.sleep(0.1)
        yield f"unix://{folder}/s"
    finally:
        os.killpg(service.pid, signal.SIGTERM)  # podman starts itself again in a namespace of its own
        service.wait(30)
        shutil.rmtree(folder, ignore_errors=True)
        Path(f"/dev/shm/libpod_rootless_lock_{NOBODY}").unlink(missing_ok=True)


def test_an_engine_that_a_user_without_rights_has_started_is_rootless(rootless, tmp_path):
    status = engine_status(client_factory=lambda: docker.DockerClient(base_url=rootless, timeout=60))
    assert (status.reachable, status.rootless) == (True, True)
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "doctor", "--engine-host", rootless],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "rootless" in done.stdout, done.stderr


def test_a_run_through_podman_is_hardened_and_told_so(podman: Podman, run_dir: Path):
    realisation = Realisation(
        variant="cpu",
        kind="image",
        reference=podman.image,
        digest=podman.image,
        python="/bin/sh",
        lock_digest="sha256:0",
    )
    program = "echo hello; echo x > /run_dir/x; echo y > /y || echo refused"
    spec = RunSpec(
        recipe="recipe",
        run_id="run-1",
        seed=7,
        device="cpu",
        command=("{python}", "-c", program),
        realisation=realisation,
    )
    backend = DockerBackend(workspace=str(run_dir), client_factory=podman.client)
    result = backend.run(spec, run_dir, on_tick=lambda: None)
    assert result.completed, result.message
    assert (run_dir / "stdout.log").read_text() == "hello\nrefused\n"
    assert (run_dir / "output" / "x").read_text() == "x\n"
    soft = [name for name, holds in hardened._promises(result.isolation, "cpu").items() if not holds]
    assert soft == []


def test_an_engine_is_named_on_the_command_line(podman, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "doctor", "--engine-host", podman.host],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Podman " in done.stdout, done.stderr


@pytest.mark.engine
def test_an_image_built_through_podman_is_the_one_that_docker_has(podman, small_project, tmp_path):
    docker_s = images.resolve(
        "cpu",
        project=small_project.root,
        kind="image",
        base="bootstrap",
        cache_dir=small_project.cache,
        on_progress=print,
    )
    try:
        done = subprocess.run(
            [sys.executable, "-m", "reprokit", "image", "build", "cpu", "--engine-host", podman.host],
            cwd=small_project.root,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "REPROKIT_CACHE": str(small_project.cache)},
        )
        assert (done.returncode, done.stdout.strip()) == (0, docker_s.reference), done.stderr
    finally:
        with image_store.connected() as client:
            client.images.remove(docker_s.reference, force=True)
