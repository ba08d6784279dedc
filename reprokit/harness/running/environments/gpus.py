"""Which GPUs a recipe's runs are made on; what cannot be is refused before an environment is made for it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from reprokit import capture
from reprokit.capture.gpus import GpuState, GpuSurvey, survey_gpus
from reprokit.core import fingerprint
from reprokit.core.environment_record import MachineFacts
from reprokit.core.numerics import CUDA
from reprokit.errors import DeviceError, ImageError
from reprokit.images import locks
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def gpus_for(
    recipe: Recipe, request: Request, *, project: Project, note: Callable[[str], None]
) -> tuple[int, ...]:
    """GPUs that the runs of a trainer with ``device: cuda`` are made on, one each; a command sees all.

    Raises:
        DeviceError: There is none, none is free, or the driver is too old.
    """
    host = capture.capture_host(project.root)
    chosen = choose_gpus(recipe, host, exclusive=request.exclusive, note=note, caller=dict(os.environ))
    with suppress(ImageError):  # of locks that cannot be read: they have a verdict of their own
        variant = locks.read_lock(project.root).variants.get(recipe.variant)
        must_have_driver(recipe, host, least=(variant.minimum_driver if variant else None) or "")
    return chosen if recipe.trainer else ()


def choose_gpus(
    recipe: Recipe,
    host: MachineFacts,
    *,
    exclusive: bool,
    note: Callable[[str], None],
    caller: Mapping[str, str],
    survey: Callable[[], GpuSurvey] = survey_gpus,
) -> tuple[int, ...]:
    """The GPUs that the runs of a recipe may use: of one model, those that no one computes on first.

    Args:
        recipe: With the settings of the platform that was asked for.
        host: What ``capture.capture_host`` found.
        exclusive: Take none that another program computes on.
        note: Told of what may slow the runs down, or fail them.
        caller: The variables of this process: a scheduler says by ``CUDA_VISIBLE_DEVICES`` which are ours.
        survey: Asks what is on the GPUs.

    Returns:
        Numbers in the order of the PCI bus; none for a recipe that asks for no GPU.

    Raises:
        DeviceError: There is no such GPU, or none is free.
    """
    if recipe.device != CUDA:
        return ()
    must_be_there(recipe, host)
    names = [_platform(str(gpu.get("name"))) for gpu in host.get("gpus") or ()]
    found = survey()
    ours = [n for n, name in enumerate(names) if name == (recipe.platform or names[0])]
    ours = _visible(ours, caller, found)
    if found.problem:
        if exclusive:
            raise DeviceError(
                "it is not known whether another program uses the GPU",
                where="--exclusive",
                actual=found.problem,
                fix="make nvidia-smi answer here, or leave out --exclusive",
            )
        note(f"what else is on the GPU is not known: {found.problem}")
        return tuple(ours)
    states = {state.index: state for state in found.gpus}
    free = [n for n in ours if n in states and not states[n].processes]
    if exclusive and not free:
        raise DeviceError(
            "another program uses every GPU that the runs could use",
            where="--exclusive",
            actual="; ".join(_users(states[n]) for n in ours if n in states) or "no such GPU",
            fix="wait until it has ended (nvidia-smi), or leave out --exclusive",
        )
    chosen = free if exclusive else [*free, *(n for n in ours if n not in free)]
    _tell(chosen, states, note=note)
    return tuple(chosen)


def must_be_there(recipe: Recipe, host: MachineFacts) -> None:
    """Refuse a recipe that asks for a GPU, or for one model of it, on a host without.

    Raises:
        DeviceError: There is no such GPU.
    """
    if recipe.device != CUDA:
        return
    gpus = host.get("gpus") or ()
    where = f"--platform {recipe.platform}" if recipe.platform else recipe.where("device")
    if not gpus:
        raise DeviceError(
            "the recipe asks for a GPU, and this host has none",
            where=where,
            actual=str((host.get("missing") or {}).get("gpus") or "none found"),
            fix="run it on a host with one (reprokit help run-on-a-gpu-host), or on this host's CPU: "
            "leave out --platform, or set device: cpu",
        )
    found = list(dict.fromkeys(_platform(str(gpu.get("name"))) for gpu in gpus))
    if recipe.platform and recipe.platform not in found:
        raise DeviceError(
            "this host's GPU is another platform, with goldens of its own",
            where=where,
            expected=recipe.platform,
            actual=", ".join(found),
            fix=f"add platform_settings for {found[0]} to the recipe, and use --platform {found[0]}",
        )


def must_have_driver(recipe: Recipe, host: MachineFacts, *, least: str) -> None:
    """Refuse a driver that is older than the variant needs.

    Raises:
        DeviceError: It is.
    """
    drivers = {str(gpu.get("driver")) for gpu in host.get("gpus") or ()}
    old = [driver for driver in sorted(drivers) if least and _numbers(driver) < _numbers(least)]
    if recipe.device == CUDA and old:
        raise DeviceError(
            f"the variant {recipe.variant} needs a newer NVIDIA driver",
            expected=f"{least} or newer",
            actual=old[0],
            fix="update the host's driver, or run the recipe with device: cpu",
        )


def _platform(name: str) -> str:
    return fingerprint.platform_of({"inside": {"device": {"kind": CUDA, "name": name}}})


def _visible(ours: Sequence[int], caller: Mapping[str, str], found: GpuSurvey) -> list[int]:
    """Those that this process was given, by number or by the beginning of their UUID.

    Raises:
        DeviceError: None of them was.
    """
    if _VISIBLE not in caller:
        return list(ours)
    given = [one.strip() for one in caller[_VISIBLE].split(",") if one.strip()]
    uuids = {state.index: state.uuid for state in found.gpus}
    left = [n for n in ours if str(n) in given or any(uuids.get(n, "").startswith(one) for one in given)]
    if not left:
        raise DeviceError(
            "this process was given none of the GPUs that the runs could use",
            where=f"{_VISIBLE}={caller[_VISIBLE]}",
            expected=", ".join(map(str, ours)),
            fix=f"name one of these in {_VISIBLE}, or unset it",
        )
    return left


def _tell(chosen: Sequence[int], states: Mapping[int, GpuState], *, note: Callable[[str], None]) -> None:
    """Say what is wrong with the GPUs that are used; all of it lets the runs continue."""
    for state in (states[n] for n in chosen if n in states):
        if state.processes:
            note(f"{_users(state)}: --exclusive would refuse it")
        if state.uncorrected_errors:
            note(f"GPU {state.index} has {state.uncorrected_errors} uncorrected memory errors")
        if state.mig:
            note(f"GPU {state.index} is split by MIG: its slices are other platforms")


def _users(state: GpuState) -> str:
    return f"GPU {state.index} is used by {', '.join(map(str, state.processes))}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
