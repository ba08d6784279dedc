"""compose.yaml: the services are pinned and hardened like everything else."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from reprokit.images.locks import read_lock


@pytest.fixture(scope="module")
def services(project: Path) -> dict[str, Any]:
    return YAML(typ="safe").load((project / "compose.yaml").read_text(encoding="utf-8"))["services"]


def test_the_services_are_built_on_the_locked_base(project: Path):
    text = (project / "images" / "compose.Dockerfile").read_text(encoding="utf-8")
    assert f"ARG BASE={read_lock(project).registry.title}\n" in text


def test_every_install_checks_hashes(project: Path):
    text = (project / "images" / "compose.Dockerfile").read_text(encoding="utf-8")
    assert text.count("pip install") == text.count("--require-hashes") == 2


@pytest.mark.parametrize("name", ["reproduce", "verify", "gpu", "tpu", "tensorboard"])
def test_no_service_is_privileged_or_can_write_its_root(services: dict[str, Any], name: str):
    service = services[name]
    assert service["read_only"] is True
    assert service["init"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "network_mode", "cap_add", "devices", "pid"} & service.keys()


def test_reproduce_trains_in_containers_of_its_own(services: dict[str, Any]):
    command = [*services["reproduce"]["entrypoint"], *services["reproduce"]["command"]]
    assert command == ["python", "-m", "reprokit", "reproduce", "--backend", "docker", "cartpole_baseline"]


def test_verify_is_the_gate_over_the_project_s_goldens(services: dict[str, Any]):
    command = [*services["verify"]["entrypoint"], *services["verify"]["command"]]
    assert command == ["python", "-m", "reprokit", "verify", "--backend", "docker", "--golden", "golden/"]


@pytest.mark.parametrize("name", ["gpu", "tpu"])
def test_an_accelerator_s_service_starts_only_when_its_profile_is_asked_for(
    services: dict[str, Any], name: str
):
    assert services[name]["profiles"] == [name]
    assert services[name]["entrypoint"] == services["reproduce"]["entrypoint"]


def test_the_tool_sees_the_gpu_s_driver_and_cannot_compute_on_it(services: dict[str, Any]):
    [asked] = services["gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert asked == {"driver": "nvidia", "count": "all", "capabilities": ["utility"]}


@pytest.mark.parametrize(
    "profiles", [[], ["gpu"], ["tpu"], ["gpu", "tpu"]], ids=lambda names: "+".join(names) or "none"
)
def test_compose_takes_the_file(project: Path, profiles: list[str]):
    command = composer()
    options = [word for name in profiles for word in ("--profile", name)]
    done = subprocess.run(
        [*command, *options, "--file", "compose.yaml", "config"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PWD": str(project)},
    )
    assert done.returncode == 0, done.stderr
    told = YAML(typ="safe").load(done.stdout)["services"]
    assert {"reproduce", "verify", "tensorboard", *profiles} <= told.keys()
    assert told["reproduce"]["working_dir"] == str(project)


def composer() -> list[str]:
    """``docker compose``, or the distribution's ``docker-compose``."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    plugin = ["docker", "compose"]
    with contextlib.suppress(OSError):
        if subprocess.run([*plugin, "version"], capture_output=True, check=False).returncode == 0:
            return plugin
    pytest.skip("needs Docker Compose: apt-get install docker-compose")


def test_only_the_tool_is_given_the_engine(services: dict[str, Any]):
    for name in ("reproduce", "verify", "gpu", "tpu"):
        assert any("docker.sock" in volume for volume in services[name]["volumes"])
    assert services["tensorboard"]["volumes"] == ["./runs:/runs:ro"]


def test_tensorboard_listens_to_this_host_alone(services: dict[str, Any]):
    assert services["tensorboard"]["ports"] == ["127.0.0.1:6006:6006"]
    assert services["tensorboard"]["cap_drop"] == ["ALL"]
