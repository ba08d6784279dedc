"""Which GPU a host has for tests/cuda: its platform, and whether containers can have it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from reprokit import capture
from reprokit.core import fingerprint
from reprokit.execution import docker as docker_backend

ROOT = Path(__file__).resolve().parents[2]
#: Recipes that say how they are judged on a GPU.
RECIPES = ("cartpole_baseline", "cartpole_dqn", "char_gpt", "mnist_cnn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU, and how runs are made on it."""

    platform: str  # such as cuda-h200
    backend: str  # docker, or local where containers cannot have it
    why_local: str = ""  # why not docker


def find_gpu() -> Gpu | str:
    """The first GPU of this host; or why there is none, in one line."""
    host = capture.capture_host(ROOT)
    found = [name for name in fingerprint.platforms_of_host(host) if name.startswith("cuda-")]
    if not found:
        return str((host.get("missing") or {}).get("gpus") or "none found")
    why = _why_local()
    return Gpu(platform=found[0], backend="local" if why else "docker", why_local=why)


def _why_local() -> str:
    status = docker_backend.engine_status()
    if not status.reachable:
        return f"no container engine: {status.error}"
    if shutil.which("nvidia-ctk") is None:
        return "the NVIDIA container toolkit is not installed"
    return ""
