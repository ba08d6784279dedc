"""Environments made real by a real engine: the shipped one, and a small one that is made in seconds."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import http.server
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors
import pytest

from reprokit import images
from reprokit.core.records import Realisation
from reprokit.errors import ImageError
from reprokit.images import cache
from reprokit.images.building import bootstrap
from reprokit.images.building import image_store as image_engine
from reprokit.images.checking import image_documents
from reprokit.images.locks import read_lock
from reprokit.images.packages import digest_of, read_packages

pytestmark = pytest.mark.engine

LIST = (
    "import importlib.metadata as m, json; print(json.dumps({d.name: d.version for d in m.distributions()}))"
)
RESOLVE = """
import sys
from pathlib import Path
from reprokit import images
project, cache, base = sys.argv[1:]
found = images.resolve("cpu", project=Path(project), kind="image",
                       build=images.BuildOptions(base=base), cache_dir=Path(cache),
                       on_progress=lambda line: print(line, flush=True))
print("made", found.reference, flush=True)
"""


@pytest.fixture(scope="module")
def client() -> Iterator[docker.DockerClient]:
    with image_engine.connected() as connected:
        yield connected


@pytest.fixture
def small(small_project, client: docker.DockerClient, know_base):
    """A small project whose images are removed afterwards."""
    know_base(small_project.cache)
    with tidied(small_project, client):
        yield small_project


@pytest.fixture(scope="module")
def shared(shared_small_project, client: docker.DockerClient, know_base):
    """One whose registry never answers, and whose build fails if it sees a network."""
    know_base(shared_small_project.cache)
    pin_base(shared_small_project, "127.0.0.1:9/base", f"sha256:{'0' * 64}")
    dockerfile = shared_small_project.root / "images" / "Dockerfile"
    text = dockerfile.read_text(encoding="utf-8")
    assert "COPY wheels" in text
    text = text.replace("COPY wheels", 'RUN test "$(ls /sys/class/net)" = lo\nCOPY wheels')
    dockerfile.write_text(text, encoding="utf-8")
    with tidied(shared_small_project, client):
        yield shared_small_project


@contextlib.contextmanager
def tidied(small, client: docker.DockerClient) -> Iterator[None]:
    before = {one.id for one in image_engine.images_with(client, image_engine.CONTENT)}
    yield
    for one in image_engine.images_with(client, image_engine.CONTENT):
        if one.id not in before and one.labels[image_engine.LOCK] == digest_of(small.lock):
            client.images.remove(one.id, force=True)


def make(small, *, base: str = "auto", on_progress=print) -> Realisation:
    return images.resolve(
        "cpu",
        project=small.root,
        kind="image",
        build=images.BuildOptions(base=base),
        cache_dir=small.cache,
        on_progress=on_progress,
    )


def run(client: docker.DockerClient, realisation: Realisation, program: str) -> str:
    """Run a Python program in a container as hardened as the tool's own."""
    output = client.containers.run(
        realisation.reference,
        [realisation.python, "-c", program],
        remove=True,
        stderr=True,
        network_mode="none",
        read_only=True,
        tmpfs={"/tmp": "rw,noexec,nosuid,nodev"},
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        pids_limit=512,
        mem_limit="4g",
        init=True,
        environment={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    return output.decode().strip()


def leftovers(client: docker.DockerClient) -> list[str]:
    rows = client.api.images(all=True, filters={"label": [image_engine.STAGE], "dangling": True})
    return [row["Id"] for row in rows]


# The shipped environment


def test_torch_imports_and_computes_in_the_hardened_container(client, cpu_image):
    program = (
        "import torch, gymnasium; print(torch.__version__, torch.ones(3).sum().item(), gymnasium.__version__)"
    )
    assert run(client, cpu_image, program) == "2.13.0+cpu 3.0 1.4.0"


def test_image_and_virtual_environment_hold_the_same_versions_and_nothing_else(
    client, cpu_image, cpu_venv, project
):
    inside = json.loads(run(client, cpu_image, LIST))
    done = subprocess.run([cpu_venv.python, "-I", "-c", LIST], capture_output=True, text=True, check=True)
    assert inside == json.loads(done.stdout)
    names = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in inside.items()}
    locked = read_packages(project / "images" / "cpu" / "requirements.lock")
    assert names == {package.name: package.version for package in locked}
    assert cpu_image.lock_digest == cpu_venv.lock_digest


def test_an_image_that_is_there_is_found_and_nothing_is_done(cpu_image, project):
    again = images.resolve("cpu", project=project, kind="image", on_progress=pytest.fail)
    assert again == cpu_image


def test_the_image_says_what_it_was_made_from(client, cpu_image, project):
    config = client.images.get(cpu_image.reference).attrs["Config"]
    labels = config["Labels"]
    assert labels["dev.reprokit.lock"] == digest_of(project / "images" / "cpu" / "requirements.lock")
    assert labels["dev.reprokit.base"] == cpu_image.base
    assert cpu_image.base.endswith(labels["org.opencontainers.image.base.digest"])
    assert labels["org.opencontainers.image.title"] == "reprokit cpu"
    assert config["User"] == "65532:65532"


def test_the_image_holds_no_installer_no_wheels_and_a_user_with_a_name(client, cpu_image):
    program = (
        "import getpass, importlib.util, os; print(importlib.util.find_spec('pip'), "
        "os.path.exists('/wheels'), os.path.exists('/installer'), os.getuid(), getpass.getuser())"
    )
    assert run(client, cpu_image, program) == "None False False 65532 reprokit"


def test_the_standard_library_and_the_packages_come_compiled(client, cpu_image):
    program = "import argparse, os, torch; print(*(os.path.exists(m.__cached__) for m in (argparse, torch)))"
    assert run(client, cpu_image, program) == "True True"


# A small one


@pytest.fixture(scope="module")
def outputs(shared) -> list[str]:
    """What two tools printed that wanted the same image at the same time, from nothing."""
    command = [sys.executable, "-c", RESOLVE, str(shared.root), str(shared.cache), "auto"]
    tools = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [tool.communicate(timeout=500)[0] for tool in tools]
    assert [tool.returncode for tool in tools] == [0, 0]
    return printed


@pytest.mark.slow
def test_two_tools_at_once_make_one_image_with_no_network_in_the_build(outputs):
    assert len({output.splitlines()[-1] for output in outputs}) == 1
    assert outputs[0].splitlines()[-1].startswith("made sha256:")
    assert sum("step" in output for output in outputs) == 1


@pytest.mark.slow
def test_where_no_registry_answers_the_base_is_made_from_packages_and_that_is_said(client, shared, outputs):
    assert sum("cannot reach 127.0.0.1:9/base" in output for output in outputs) == 1
    realisation = make(shared, on_progress=pytest.fail)
    assert realisation.base.startswith("bootstrap:sha256:")
    assert run(client, realisation, "import tiny; print(tiny.VERSION)") == "1.0"


@pytest.mark.usefixtures("outputs")
def test_an_image_made_on_top_is_not_taken_for_the_environment(client, shared):
    original = make(shared)
    dockerfile = f"FROM {original.reference}\nENV CHANGED=1\n"
    top, _ = client.images.build(fileobj=io.BytesIO(dockerfile.encode()), rm=True)
    try:
        assert top.labels[image_engine.CONTENT]
        assert make(shared, on_progress=pytest.fail) == original
    finally:
        client.images.remove(top.id, force=True)


@pytest.mark.slow
@pytest.mark.usefixtures("outputs")
def test_an_image_that_was_removed_is_built_again_and_works(client, shared):
    client.images.remove(make(shared).reference, force=True)
    again = make(shared)
    assert run(client, again, "import tiny; print(tiny.VERSION)") == "1.0"
    assert leftovers(client) == []


# Whose image it is


def labelled_alike(client: docker.DockerClient, genuine: Realisation) -> str:
    """An image with other code, and every label and the very tag of a genuine one, which is removed."""
    there = client.images.get(genuine.reference)
    [tag] = there.tags
    labels = " ".join(f"{key}={json.dumps(value)}" for key, value in there.labels.items())
    program = "import tiny; open(tiny.__file__, 'w').write('VERSION = 6.66')"
    steps = [f"FROM {there.id}", "USER root", f'RUN {genuine.python} -c "{program}"', f"LABEL {labels}"]
    forged, _ = client.images.build(fileobj=io.BytesIO("\n".join(steps).encode()), rm=True, tag=tag)
    assert client.images.get(tag).id == forged.id
    assert forged.labels == there.labels
    return str(forged.id)


@pytest.mark.slow
def test_a_foreign_image_with_every_label_and_the_tag_is_not_taken_and_not_attested(client, small, tmp_path):
    genuine = make(small)
    forged = labelled_alike(client, genuine)
    assert make(small, on_progress=pytest.fail) == genuine  # its ID is known here
    elsewhere = dataclasses.replace(small, cache=tmp_path / "another host")
    (elsewhere.cache / "builds").mkdir(parents=True)
    for record in (small.cache / "builds").glob("*.json"):
        if genuine.digest.removeprefix("sha256:") not in record.name:
            shutil.copy(record, elsewhere.cache / "builds")
    said: list[str] = []
    assert make(elsewhere, on_progress=said.append) == genuine  # built there, the same bytes
    assert [line for line in said if forged in line and "no record of having built it for you" in line]
    assert run(client, genuine, "import tiny; print(tiny.VERSION)") == "1.0"
    assert image_documents.files_of(genuine.digest, cache=elsewhere.cache)
    assert image_documents.files_of(forged, cache=elsewhere.cache) == {}


@pytest.mark.slow
def test_an_image_that_the_lock_names_is_taken_as_it_was_loaded_and_is_not_attested(client, small, tmp_path):
    genuine = make(small)
    packed = b"".join(client.images.get(genuine.reference).save(named=True))
    client.images.remove(genuine.reference, force=True)
    shutil.rmtree(small.cache)  # another host, with nothing but what it is given
    [loaded] = client.images.load(packed)
    lock = small.root / "images" / "lock.toml"
    text = lock.read_text(encoding="utf-8")
    accepted = f'[variants.cpu]\naccepted_images = ["{loaded.id}"]\n'
    lock.write_text(text.replace("[variants.cpu]\n", accepted, 1), encoding="utf-8")
    assert make(small, on_progress=pytest.fail) == genuine
    assert image_documents.files_of(genuine.digest, cache=small.cache) == {}
    with pytest.raises(ImageError, match="built on another machine"):
        image_documents.read(genuine.digest, variant="cpu", cache=small.cache)


def test_a_step_that_fails_is_told_with_its_last_lines_and_leaves_nothing(client, small):
    dockerfile = small.root / "images" / "Dockerfile"
    with dockerfile.open("a", encoding="utf-8") as stream:
        stream.write("USER root\nRUN echo the shelf is empty >&2; exit 7\n")
    with pytest.raises(ImageError, match="non-zero code: 7") as caught:
        make(small)
    assert "the shelf is empty" in caught.value.actual
    assert leftovers(client) == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["COPY", "RUN", "reading it back"])
def test_a_build_that_is_terminated_leaves_nothing_in_the_engine(client, small, moment):
    tool = [sys.executable, "-m", "reprokit", "image", "build", "cpu", "--base", "bootstrap"]
    variables = {**os.environ, "REPROKIT_CACHE": str(small.cache)}
    before = set(leftovers(client))
    command = {"cwd": small.root, "env": variables, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(tool, **command) as build:
        assert next(line for line in build.stderr if moment in line)
        build.send_signal(signal.SIGTERM)
        build.stderr.read()
    assert build.returncode == 143
    time.sleep(3)  # the engine may continue after the tool has ended
    left, deadline = set(leftovers(client)) - before, time.monotonic() + 90
    while left and time.monotonic() < deadline:  # of builds next to this one, which go away by themselves
        time.sleep(1)
        left &= set(leftovers(client))
    assert left == set()


@pytest.mark.slow
def test_a_build_that_was_killed_leaves_nothing_that_is_taken_for_whole(client, small, base_image):
    command = [sys.executable, "-c", RESOLVE, str(small.root), str(small.cache), "auto"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        seen = next(line for line in tool.stdout if "step" in line and "RUN" in line)
        tool.send_signal(signal.SIGKILL)
    assert tool.returncode == -signal.SIGKILL
    assert seen
    mine = digest_of(small.lock)
    found = image_engine.images_with(client, image_engine.CONTENT)
    assert [one for one in found if one.labels[image_engine.LOCK] == mine] == []
    assert run(client, make(small), "import tiny; print(tiny.VERSION)") == "1.0"
    assert leftovers(client) == []


# Bases


class Registry(http.server.BaseHTTPRequestHandler):
    """As much of a container registry as a pull by digest asks for."""

    blobs: dict[str, bytes]
    manifest: str
    manifest_type = "application/vnd.docker.distribution.manifest.v2+json"

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, *, with_content: bool) -> None:
        name = self.path.rsplit("/", 1)[-1]
        content = b"{}" if self.path.rstrip("/") == "/v2" else self.blobs.get(name)
        self.send_response(404 if content is None else 200)
        self.send_header("Content-Length", str(len(content or b"")))
        self.send_header("Docker-Content-Digest", name)
        self.send_header(
            "Content-Type", self.manifest_type if name == self.manifest else "application/octet-stream"
        )
        self.end_headers()
        if content and with_content:
            self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def registry_with(client: docker.DockerClient, image: str) -> Iterator[tuple[str, str]]:
    """Serve an image of the engine on this host; yields its name and its manifest's digest."""
    saved = io.BytesIO(b"".join(client.images.get(image).save()))
    with tarfile.open(fileobj=saved) as tar:
        (entry,) = json.load(tar.extractfile("manifest.json"))
        parts = [tar.extractfile(name).read() for name in (entry["Config"], *entry["Layers"])]
    digests = [f"sha256:{hashlib.sha256(part).hexdigest()}" for part in parts]
    kinds = ["container.image.v1+json", *["image.rootfs.diff.tar.gzip"] * len(entry["Layers"])]
    described = [
        {"mediaType": f"application/vnd.docker.{kind}", "size": len(part), "digest": digest}
        for kind, part, digest in zip(kinds, parts, digests, strict=True)
    ]
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": Registry.manifest_type,
            "config": described[0],
            "layers": described[1:],
        }
    ).encode()
    name = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
    blobs = {name: manifest, **dict(zip(digests, parts, strict=True))}
    handler = type("Handler", (Registry,), {"blobs": blobs, "manifest": name})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}/base", name
        finally:
            server.shutdown()


def pin_base(small, image: str, digest: str) -> None:
    path: Path = small.root / "images" / "lock.toml"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r'^image = ".*"$', f'image = "{image}"', text, flags=re.MULTILINE)
    path.write_text(
        re.sub(r'^digest = ".*"$', f'digest = "{digest}"', text, flags=re.MULTILINE), encoding="utf-8"
    )


@pytest.mark.slow
def test_where_the_registry_answers_the_pinned_base_is_pulled_and_built_on(client, small, base_image):
    with registry_with(client, base_image) as (name, digest):
        pin_base(small, name, digest)
        said: list[str] = []
        realisation = make(small, on_progress=said.append)
    try:
        assert any(line.startswith("base: pulling") for line in said)
        assert realisation.base == f"{name}:3.11-slim-bookworm@{digest}"
        assert run(client, realisation, "import tiny; print(tiny.VERSION)") == "1.0"
    finally:
        client.images.remove(realisation.reference, force=True)
        client.images.remove(f"{name}@{digest}")


@pytest.mark.slow
def test_a_digest_that_the_registry_does_not_have_is_refused(client, small, base_image):
    with registry_with(client, base_image) as (name, _digest):
        pin_base(small, name, f"sha256:{'0' * 64}")
        with pytest.raises(ImageError, match="the base image cannot be pulled"):
            make(small, base="registry")


@pytest.mark.slow
def test_a_base_made_twice_is_the_same_bytes(tmp_path, project):
    lock, folder = read_lock(project), cache.cache_folder(None)
    for name in ("one", "two"):
        bootstrap.make_rootfs(
            lock, tmp_path / name, machine=platform.machine(), cache=folder, on_progress=print
        )
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
