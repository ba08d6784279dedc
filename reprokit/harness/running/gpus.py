"""Which GPUs a recipe's runs are made on; refused before an environment is made for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reprokit.core import fingerprint
from reprokit.core.numerics import CUDA
from reprokit.errors import DeviceError
from reprokit.recipes import Recipe


def must_be_there(recipe: Recipe, host: Mapping[str, Any]) -> None:
    """Refuse a recipe that asks for a GPU, or for one model of it, on a host without.

    Args:
        recipe: With the settings of the platform that was asked for.
        host: What ``capture.capture_host`` found.

    Raises:
        DeviceError: There is no such GPU.
    """
    if recipe.device != CUDA:
        return
    found = [name for name in fingerprint.platforms_of_host(host) if name.startswith(f"{CUDA}-")]
    if not found:
        why = str((host.get("missing") or {}).get("gpus") or "none found")
        raise DeviceError(
            "the recipe asks for a GPU, and this host has none",
            where=recipe.where("device") if not recipe.platform else f"--platform {recipe.platform}",
            actual=why,
            fix="run it on a host with one (reprokit help run-on-a-gpu-host), or on this host's CPU: "
            "leave out --platform, or set device: cpu",
        )
    if recipe.platform and recipe.platform not in found:
        raise DeviceError(
            "this host's GPU is another platform, with goldens of its own",
            where=f"--platform {recipe.platform}",
            expected=recipe.platform,
            actual=", ".join(found),
            fix=f"add platform_settings for {found[0]} to the recipe, and use --platform {found[0]}",
        )
