"""Variation ``gpu_index``: another GPU of the same machine."""

from reprokit.variations import There, Unmade, Variation

ORDER = 230
SAYS = "which of the GPUs computes"


def vary(there: There) -> Variation | Unmade:
    """The change; it takes two GPUs, and a run that uses one."""
    if there.num_gpus < 2:
        return Unmade(why="there is one GPU here" if there.num_gpus else "there is no GPU here")
    return Variation(
        category="nonportable_numerics",
        fix="compute on GPUs of one kind",
        environment={"CUDA_VISIBLE_DEVICES": str(there.num_gpus - 1)},
    )
