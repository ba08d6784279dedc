"""Variation ``compile_autotune``: ``torch.compile`` chooses kernels by timing them, and nothing from a cache.

Source: torch/_inductor/config.py, ``max_autotune`` and ``force_disable_caches``.
"""

from reprokit.variations import RunPlace, Variation

ORDER = 240
SAYS = "which kernels torch.compile chooses"


def vary(there: RunPlace) -> Variation:
    """The change; seldom on a CPU, where few kernels are chosen so."""
    return Variation(
        category="nonportable_numerics",
        fix='compile without mode="max-autotune", and keep TORCHINDUCTOR_MAX_AUTOTUNE unset',
        environment={"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"},
        seldom="" if there.device == "cuda" else "only torch.compile chooses kernels by their times",
    )
