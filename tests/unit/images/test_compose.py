"""compose.yaml: the services are pinned and hardened like everything else."""

from __future__ import annotations

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


@pytest.mark.parametrize("name", ["reproduce", "tensorboard"])
def test_no_service_is_privileged_or_can_write_its_root(services: dict[str, Any], name: str):
    service = services[name]
    assert service["read_only"] is True
    assert service["init"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert not {"privileged", "network_mode", "cap_add", "devices", "pid"} & service.keys()


def test_reproduce_trains_in_containers_of_its_own(services: dict[str, Any]):
    command = [*services["reproduce"]["entrypoint"], *services["reproduce"]["command"]]
    assert command == ["python", "-m", "reprokit", "reproduce", "--backend", "docker", "cartpole_baseline"]


def test_only_reproduce_is_given_the_engine(services: dict[str, Any]):
    assert any("docker.sock" in volume for volume in services["reproduce"]["volumes"])
    assert services["tensorboard"]["volumes"] == ["./runs:/runs:ro"]


def test_tensorboard_listens_to_this_host_alone(services: dict[str, Any]):
    assert services["tensorboard"]["ports"] == ["127.0.0.1:6006:6006"]
    assert services["tensorboard"]["cap_drop"] == ["ALL"]
