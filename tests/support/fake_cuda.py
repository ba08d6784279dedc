"""A GPU that is not there: CPU tensors that say they lie on ``cuda:0``, and refuse to meet those of the CPU.

    >>> with fake_cuda() as gpu:
    ...     torch.zeros(3, device="cuda") + torch.ones(3)
    RuntimeError: Expected all tensors to be on the same device, but aten.add.Tensor got cuda:0 and cpu

What lies where is kept with the storage, so views, ``.data`` and in-place kernels follow. Every operation, of
the backward pass too, computes on the CPU: the layer shows that a program moves what it must move and asks
for nothing of a GPU that is not there, nor for an operation of which the documentation says that it has no
kernel that repeats. It shows nothing of a GPU's kernels, their bits, memory or streams.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")
NAME = "NVIDIA H200"
_OF_TENSOR = torch.Tensor
# What takes tensors of both: copies, and indices on the CPU into a tensor on a GPU.
_ACROSS = ("aten.copy_.", "aten._to_copy.")
_INDEXING = ("aten.index.", "aten.index_put", "aten._index_put_impl_")
# Kernels that take no number from the CPU.
_STRICT = ("aten._fused_",)
# What has no kernel that repeats on a GPU, by the documentation of torch.use_deterministic_algorithms (2.13).
_ATOMIC = (
    *("avg_pool3d_backward", "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward"),
    *("max_pool3d_with_indices_backward", "adaptive_max_pool2d_backward", "fractional_max_pool2d_backward"),
    *("fractional_max_pool3d_backward", "max_unpool2d", "max_unpool3d", "upsample_linear1d_backward"),
    *("upsample_bilinear2d_backward", "upsample_bicubic2d_backward", "upsample_trilinear3d_backward"),
    *("reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward"),
    *("replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward"),
    *("nll_loss2d_forward", "_ctc_loss_backward", "_embedding_bag_dense_backward", "put", "put_", "histc"),
    *("bincount", "kthvalue", "median", "grid_sampler_2d_backward", "grid_sampler_3d_backward", "cumsum"),
)


def place_of(tensor: Tensor) -> torch.device:
    """Where a tensor says that it lies."""
    return GPU if getattr(tensor.untyped_storage(), "on_gpu", False) else CPU


def _put(tensor: Tensor, place: torch.device) -> Tensor:
    tensor.untyped_storage().on_gpu = place == GPU  # type: ignore[attr-defined]  # ours
    return tensor


class _Kernels(TorchDispatchMode):
    """Looks at every operation as it reaches its kernel."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, given = str(func), {**(kwargs or {})}
        tensors = [one for one in tree_leaves((args, given)) if isinstance(one, Tensor)]
        places = {place_of(one) for one in tensors if one.dim() or name.startswith(_STRICT)}
        if len(places) > 1 and not name.startswith(_ACROSS) and not self._is_indexing(name, args):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but {name} got "
                f"{' and '.join(sorted(map(str, places), reverse=True))}"
            )
        if self._is_atomic(name, tensors) and torch.are_deterministic_algorithms_enabled():
            raise RuntimeError(f"{name} on a GPU does not have a deterministic implementation")
        results = func(*args, **given)
        first = tensors[:1] if name.startswith(_ACROSS) else tensors
        if GPU in map(place_of, first):
            for one in tree_leaves(results):
                if isinstance(one, Tensor):
                    _put(one, GPU)
        return results

    @staticmethod
    def _is_atomic(name: str, tensors: list[Tensor]) -> bool:
        on_gpu = [one for one in tensors if place_of(one) == GPU]
        return name.split(".")[1] in _ATOMIC and any(one.is_floating_point() for one in on_gpu)

    @staticmethod
    def _is_indexing(name: str, args: Any) -> bool:
        return name.startswith(_INDEXING) and place_of(args[0]) == GPU


class _Calls(TorchFunctionMode):
    """Answers what Python asks of a tensor's place, and moves tensors where they are told to go."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        if answer := _ANSWERS.get(func):
            return answer(args[0])
        if func in _MOVES:
            return self._moved(func, args, given)
        if func in (_OF_TENSOR.numpy, _OF_TENSOR.__array__) and place_of(args[0]) == GPU:
            if not given.pop("force", False):
                raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
            return func(args[0].detach().clone(), **given)
        wanted = given.get("device")
        if wanted is None or torch.device(wanted).type != GPU.type:
            return func(*args, **given)
        if given.get("generator") is not None:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        made = func(*args, **{**given, "device": CPU})
        return _put(made.clone() if func in (torch.as_tensor, torch.asarray) else made, GPU)

    @staticmethod
    def _moved(func: Any, args: Any, given: dict[str, Any]) -> Tensor:
        tensor, rest = args[0], args[1:]
        if func is not _OF_TENSOR.to:
            device, dtype, memory = (GPU if func is _OF_TENSOR.cuda else CPU), None, None
        elif rest and isinstance(rest[0], Tensor):
            device, dtype, memory = place_of(rest[0]), rest[0].dtype, None
        else:
            given.pop("copy", None)
            device, dtype, _, memory = torch._C._nn._parse_to(*rest, **given)
        place = place_of(tensor) if device is None else GPU if device.type == GPU.type else CPU
        layout = {} if memory is None else {"memory_format": memory}
        if place == place_of(tensor):
            return func(tensor, dtype=dtype or tensor.dtype, **layout) if func is _OF_TENSOR.to else tensor
        with torch._C.DisableTorchFunction():
            return _put(tensor.to(dtype=dtype or tensor.dtype, copy=True, **layout), place)


_ANSWERS: Mapping[Any, Callable[[Tensor], Any]] = {
    _OF_TENSOR.device.__get__: place_of,
    _OF_TENSOR.is_cuda.__get__: lambda tensor: place_of(tensor) == GPU,
    _OF_TENSOR.is_cpu.__get__: lambda tensor: place_of(tensor) == CPU,
    _OF_TENSOR.get_device: lambda tensor: 0 if place_of(tensor) == GPU else -1,
}
_MOVES = (_OF_TENSOR.to, _OF_TENSOR.cuda, _OF_TENSOR.cpu)


@contextlib.contextmanager
def fake_cuda() -> Iterator[SimpleNamespace]:
    """Inside, torch finds one GPU; gives ``random``, where the state of its generator is kept."""
    held = SimpleNamespace(random=torch.arange(16, dtype=torch.uint8))
    properties = SimpleNamespace(
        name=NAME, major=9, minor=0, multi_processor_count=132, total_memory=139 << 30
    )
    cuda = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "get_device_properties": lambda _: properties,
        "get_rng_state": lambda: torch.clone(held.random),
        "set_rng_state": lambda state: setattr(held, "random", state.clone()),
    }
    with contextlib.ExitStack() as stack:
        for name, stand_in in cuda.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, stand_in))
        stack.enter_context(mock.patch.object(torch.version, "cuda", "13.0"))
        stack.enter_context(mock.patch.object(torch.backends.cudnn, "version", return_value=91900))
        stack.enter_context(_Kernels())
        stack.enter_context(_Calls())
        yield held
