"""The engine's two builders: the classic one, and BuildKit through the distribution's client.

What they return is raw: it depends on the day of the build, and ``canonical`` removes that.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from docker import DockerClient

from reprokit import docker_sdk
from reprokit.errors import ImageError, UsageError
from reprokit.images.subprocesses import run_command

CLASSIC = "classic"
BUILDKIT = "buildkit"
_CLIENTS = ("docker", "/usr/bin/docker")  # a newer client on the path may lack BuildKit's plugin
_IS_ID = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """One build."""

    context: BinaryIO  # a tar file with `Dockerfile` in it, read from where it stands
    base: str  # name of the image to build on, with tag or digest: BuildKit takes no ID
    base_id: str  # its ID, which the classic builder takes
    arguments: Mapping[str, str]  # build arguments besides `BASE`
    cores: str = ""  # which cores the steps may use; empty for all. BuildKit takes all.


def build(
    client: DockerClient, request: BuildRequest, *, builder: str, on_line: Callable[[str], None]
) -> str:
    """Build with no network and no cache, and return the image's ID; ``on_line`` gets the builder's output.

    Raises:
        BuildFailedError: A step failed, or the builder refused.
        UsageError: There is no such builder.
        ImageError: BuildKit is wanted, and no client here has it.
    """
    if builder == CLASSIC:
        return _classic(client, request, on_line)
    if builder == BUILDKIT:
        return _buildkit(request, on_line)
    raise UsageError("unknown builder", expected=f"{CLASSIC} or {BUILDKIT}", actual=repr(builder))


class BuildFailedError(Exception):
    """What the builder said when it gave up."""


def available() -> tuple[str, ...]:
    """The builders that can be used here."""
    return (CLASSIC,) if _client_with_buildkit() is None else (CLASSIC, BUILDKIT)


def _classic(client: DockerClient, request: BuildRequest, on_line: Callable[[str], None]) -> str:
    failed = made = ""
    try:
        events = client.api.build(
            fileobj=request.context,
            custom_context=True,
            network_mode="none",
            nocache=True,
            decode=True,
            buildargs={"BASE": request.base_id, **request.arguments},
            rm=True,
            forcerm=True,
            use_config_proxy=False,
            container_limits={"cpusetcpus": request.cores} if request.cores else None,
        )
        for event in events:  # to the end even after an error: only then is the connection free again
            on_line(str(event.get("stream", "")))
            failed = failed or str(event.get("error", ""))
            made = _id_of(event) or made
    except docker_sdk.SDK_ERRORS as error:
        if docker_sdk.fault_of(error) not in docker_sdk.ANSWERS:
            raise
        raise BuildFailedError(docker_sdk.words_of(error)) from error
    if failed or not made:
        raise BuildFailedError(failed or "the builder reported no image ID")
    return made


def _id_of(event: Mapping[str, Any]) -> str:
    aux = event.get("aux")
    return str(aux.get("ID", "")) if isinstance(aux, dict) else ""


def _buildkit(request: BuildRequest, on_line: Callable[[str], None]) -> str:
    client = _client_with_buildkit()
    if client is None:
        raise ImageError(
            "no Docker client here has BuildKit",
            fix="install the distribution's (Debian: docker.io), or docker-buildx; or use --builder classic",
        )
    arguments = {"BASE": request.base, **request.arguments}
    with tempfile.TemporaryDirectory(prefix="reprokit-build-") as name:
        answer = Path(name) / "id"
        build_arguments = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        options = ["--network=none", "--no-cache", "--progress=plain", f"--iidfile={answer}"]
        ended = run_command(
            [client, "build", *options, *build_arguments, "-"],
            environment={**os.environ, "DOCKER_BUILDKIT": "1"},
            stdin=request.context,
            on_line=lambda line: on_line(f"{line}\n"),
        )
        made = answer.read_text(encoding="ascii").strip() if answer.is_file() else ""
    if ended.exit_code or not _IS_ID.fullmatch(made):
        raise BuildFailedError(f"docker build ended with exit code {ended.exit_code}")
    return made


def _client_with_buildkit() -> str | None:
    """A Docker client that can build with BuildKit: by itself up to 20.10, by a plugin since."""
    for name in _CLIENTS:
        path = shutil.which(name)
        if path is None:
            continue
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            variables = {**os.environ, "DOCKER_BUILDKIT": "1"}
            command = [path, "build", "--help"]
            done = subprocess.run(command, env=variables, capture_output=True, check=True, timeout=30)
            if b"--progress" in done.stdout:
                return path
    return None
