"""Digests of the state that an update of PyTorch begins with, one a part: what a resumed program lost."""

import gc
import hashlib
import random
import sys
import weakref
from typing import Any


class State:
    """The parts that a training is resumed from."""

    def __init__(self) -> None:
        self._modules: Any = None
        self._began = _generators()

    def of(self, optimizer: Any) -> Any:
        """Part → digest, before the optimizer takes its step."""
        parameters = [one for group in optimizer.param_groups for one in group["params"]]
        options = [
            {key: value for key, value in sorted(group.items()) if key != "params"}
            for group in optimizer.param_groups
        ]
        kept = [optimizer.state[one] for one in parameters if one in optimizer.state]
        schedulers = [_plain(one) for one in _living("torch.optim.lr_scheduler", "LRScheduler")]
        used = {name: one for name, one in _generators().items() if one != self._began.get(name)}
        return {
            "parameters": _digest([one.detach() for one in parameters]),
            "gradients": _digest([one.grad for one in parameters]),
            "optimizer": _digest(kept),
            "scheduler": _digest([options, schedulers]),
            "scaler": _digest([_plain(one) for one in _living("torch.amp.grad_scaler", "GradScaler")]),
            "buffers": _digest(self._buffers(parameters)),
            **{name: _digest(one) for name, one in used.items()},
        }

    def _buffers(self, parameters: Any) -> Any:
        """Of the modules that hold these parameters."""
        torch: Any = sys.modules["torch"]
        if self._modules is None:
            wanted = {id(one) for one in parameters}
            holding = [
                one
                for one in gc.get_objects()
                if issubclass(type(one), torch.nn.Module) and any(id(p) in wanted for p in one.parameters())
            ]
            inner = {id(part) for one in holding for part in one.children()}
            self._modules = [weakref.ref(one) for one in holding if id(one) not in inner]
        alive = [module for module in (one() for one in self._modules) if module is not None]
        return [dict(sorted(one.named_buffers())) for one in alive]


def _living(module: str, kind: str) -> Any:
    """Objects of a class of PyTorch, in the order in which they were made."""
    of_kind = getattr(sys.modules.get(module), kind, None)
    return [one for one in gc.get_objects() if of_kind is not None and issubclass(type(one), of_kind)]


def _plain(one: Any) -> Any:
    """Its own state, without functions, other objects, and what is counted elsewhere."""
    return {
        key: value
        for key, value in sorted(one.state_dict().items())
        if isinstance(value, (bool, int, float, str, list, tuple, type(None))) and key != "_step_count"
    }


def _generators() -> Any:
    """The global ones; one that is as it was at first was neither seeded nor drawn from, and is left out."""
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    found = {"Python's generator": repr(random.getstate())}
    default = getattr(torch, "default_generator", None)
    if default is not None:
        found["PyTorch's generator"] = repr(default.get_state().tolist())
    if numpy is not None and hasattr(numpy, "random"):
        found["NumPy's generator"] = repr(numpy.random.get_state(legacy=False)["state"])
    return found


def _digest(value: Any) -> str:
    seen = hashlib.blake2b(digest_size=16)
    _feed(seen, value)
    return seen.hexdigest()


def _feed(seen: Any, value: Any) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            seen.update(repr(key).encode())
            _feed(seen, one)
    elif isinstance(value, (list, tuple)):
        seen.update(b"[%d" % len(value))
        for one in value:
            _feed(seen, one)
    elif hasattr(value, "detach"):
        tensor = value.detach().cpu().contiguous()
        seen.update(repr((str(tensor.dtype), tuple(tensor.shape))).encode())
        seen.update(
            bytes(tensor.flatten().view(sys.modules["torch"].uint8).numpy()) if tensor.numel() else b""
        )
    else:
        seen.update(repr(value).encode())
