"""Podman's Docker-compatible socket: the same hardened run, the same account of it.

A service of the test's own, with folders of its own. Podman and its init program come from the
distribution: ``apt-get install podman catatonit``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from reprokit.checks import hardened
from reprokit.core.records import Realisation, RunSpec
from reprokit.execution.docker import DockerBackend, engine_status

TAG = "localhost/reprokit-test-podman:1"
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


def test_a_run_through_podman_is_hardened_and_told_so(podman: Podman, run_dir: Path):
    realisation = Realisation(
        variant="cpu", kind="image", reference=podman.image, digest=podman.image, python="/bin/sh",
        lock_digest="sha256:0",
    )  # fmt: skip
    program = "echo hello; echo x > /run_dir/x; echo y > /y || echo refused"
    spec = RunSpec(
        recipe="recipe", run_id="run-1", seed=7, device="cpu", command=("{python}", "-c", program),
        realisation=realisation,
    )  # fmt: skip
    backend = DockerBackend(workspace=str(run_dir), client_factory=podman.client)
    result = backend.run(spec, run_dir, on_tick=lambda: None)
    assert result.completed, result.message
    assert (run_dir / "stdout.log").read_text() == "hello\nrefused\n"
    assert (run_dir / "output" / "x").read_text() == "x\n"
    soft = [name for name, holds in hardened._promises(result.isolation, "cpu").items() if not holds]
    assert soft == []


def test_an_engine_is_named_on_the_command_line(podman, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "reprokit", "doctor", "--engine-host", podman.host], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Podman " in done.stdout, done.stderr
