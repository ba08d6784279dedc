"""Deterministic alternatives to operations that give other outputs for the same inputs.

    >>> alternative_of("scatter_add_", on_cpu=False)
    "torch.use_deterministic_algorithms(True), which gives it a fixed order"

Source of what repeats, and what raises an error: 30 repeats of each operation on an H200 with PyTorch 2.11
(``docs/evidence/numerics-claims.md``); for what was not measured, the documentation of
``torch.use_deterministic_algorithms`` (PyTorch 2.13). What to take in place of what raises an error follows
from the operations that repeat.
"""

from __future__ import annotations

_ASKED = "torch.use_deterministic_algorithms(True)"
_IN_ORDER = f"{_ASKED}, which gives it a fixed order"
_RAISES = f"no kernel on a GPU repeats ({_ASKED} raises an error)"
_BACKWARD = f"its backward pass has no kernel on a GPU that repeats ({_ASKED} raises an error)"
_DIFFERS_STILL = f"with {_ASKED} it differs as well, and no error says so"
_FEWER_THREADS = f"fix the number of threads: torch.set_num_threads(1); or {_ASKED}"
_WORKSPACE = f"{_ASKED}, and CUBLAS_WORKSPACE_CONFIG=:4096:8 before the start"
#: The beginning of a name → what to do; the first that fits counts.
_ON_A_CPU = {
    "index_put": f"{_ASKED}, which gives index_put_ a fixed order",
    "put_": f"index_add_ or scatter_add_ on one thread, or {_ASKED}",
    "scatter_add": f"{_ASKED}, or one thread",
    "index_add": f"{_ASKED}, or one thread",
}
_ON_A_GPU = {
    "index_put": _IN_ORDER,
    "_index_put": _IN_ORDER,
    "index_add": _IN_ORDER,
    "index_copy": _IN_ORDER,
    "scatter_add": _IN_ORDER,
    "scatter_reduce": f"{_ASKED}, which gives sums and means a fixed order, and products none",
    "scatter": _IN_ORDER,
    "max_pool3d": f"{_BACKWARD}: where windows do not overlap, reshape and amax()",
    "replication_pad": _IN_ORDER,
    "convolution": f"{_ASKED}, which has cuDNN take kernels that repeat",
    "cudnn_convolution": f"{_ASKED}, which has cuDNN take kernels that repeat",
    "embedding_dense_backward": _IN_ORDER,
    "_embedding_bag": f"mode='sum' or 'mean': with 'max' {_BACKWARD}",
    "put": f"{_RAISES}: index_put_ on the flattened tensor",
    "bincount": f"{_RAISES} with weights: index_add_ into zeros",
    "histc": f"{_RAISES}: bucketize, and index_add_ into zeros",
    "cumsum": f"{_IN_ORDER} where it is not compiled; compiled by torch.compile it differs as well",
    "median": f"{_RAISES} with indices: sort(stable=True), and the middle of it",
    "upsample_bilinear2d": _IN_ORDER,
    "upsample_trilinear3d": _IN_ORDER,
    "_upsample_bilinear2d_aa": f"{_BACKWARD}: antialias=False",
    "upsample": f"{_BACKWARD} for the linear and cubic modes: interpolate(mode='nearest')",
    "_sparse": f"{_DIFFERS_STILL}: to_dense() first",
    "_ctc_loss": f"{_BACKWARD}: the loss on the CPU",
    "nll_loss2d": f"{_RAISES}: the loss of the positions as rows, [positions, classes]",
    "avg_pool3d": f"{_BACKWARD}: where windows do not overlap, reshape and mean()",
    "_adaptive_avg_pool": f"{_BACKWARD}: where windows are equal, reshape and mean()",
    "adaptive_max_pool3d": f"{_DIFFERS_STILL}: where windows are equal, reshape and amax()",
    "adaptive_max_pool": f"{_BACKWARD}: where windows are equal, reshape and amax()",
    "fractional_max_pool": f"{_BACKWARD}: max_pool2d or max_pool3d",
    "max_unpool": f"{_RAISES}: scatter into zeros",
    "reflection_pad2d": _IN_ORDER,
    "reflection_pad": f"{_BACKWARD}: flip and cat",
    "grid_sampler": f"{_BACKWARD}: gather the neighbours, and weigh them",
}


def alternative_of(name: str, *, on_cpu: bool) -> str:
    """What to do about an operation, by its name without ``aten.`` and overload."""
    known, otherwise = (_ON_A_CPU, _FEWER_THREADS) if on_cpu else (_ON_A_GPU, _WORKSPACE)
    return next((text for word, text in known.items() if name.startswith(word)), otherwise)
