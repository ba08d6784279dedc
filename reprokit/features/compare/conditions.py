"""Threads and CPUs of a side, as deliberate changes of its conditions."""

from __future__ import annotations

from reprokit.errors import CannotJudgeError
from reprokit.features.compare.asked import SideAsked
from reprokit.harness.running.environments.environment import backend_of
from reprokit.harness.running.varying import emulation
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.variations import Variation

_NUM_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def variations_of(asked: SideAsked, recipe: Recipe, request: Request) -> tuple[Variation, ...]:
    """What is asked of a side besides its tree and settings.

    Raises:
        CannotJudgeError: It cannot be made here.
        CannotRunError: There is no emulator.
        UsageError: The emulator knows no such CPU.
    """
    found = []
    if asked.threads is not None:
        if recipe.ranks is not None:
            raise CannotJudgeError("the ranks of a training share the threads", where=recipe.where("ranks"))
        found.append(
            Variation(
                category="nonportable_numerics",
                fix="fix the number of threads",
                name="threads",
                says=f"{asked.threads} threads",
                environment=dict.fromkeys(_NUM_THREADS, str(asked.threads)),
            )
        )
    if asked.cpu is not None:
        emulator = emulation.find_emulator(in_container=backend_of(recipe, request) == "docker")
        emulation.check_names([asked.cpu], emulator=emulator)
        found.append(
            Variation(
                category="nonportable_numerics",
                fix="use the portable profile",
                name="cpu_model",
                says=f"CPU {asked.cpu}",
                cpu=asked.cpu,
                differs=("cpu",),
            )
        )
    return tuple(found)
