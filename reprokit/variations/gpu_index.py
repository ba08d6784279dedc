"""Variation ``gpu_index``: another GPU of the same machine, and all of them in another order."""

from reprokit.variations import RunPlace, Variation, VariationNotMade

ORDER = 230
SAYS = "which of the GPUs computes, and their order"


def vary(there: RunPlace) -> Variation | VariationNotMade:
    """The change; it takes two GPUs, and a run that uses one."""
    if there.num_gpus < 2:
        return VariationNotMade(why="there is one GPU here" if there.num_gpus else "there is no GPU here")
    others = [number for number in reversed(range(there.num_gpus)) if number != there.gpu]
    return Variation(
        category="nonportable_numerics",
        fix="compute on GPUs of one kind",
        environment={
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",  # or CUDA numbers them by their speed
            "CUDA_VISIBLE_DEVICES": ",".join(map(str, [*others, there.gpu])),
        },
    )
