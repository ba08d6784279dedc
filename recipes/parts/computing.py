"""What a model is computed in: its precision, compiled or not, and the scale of its loss.

    >>> compute_in(model, precision="float16", mode="default")
    >>> adam = adam_of(model, epsilon=1e-8, precision="float16")
    >>> torch.autograd.backward(adam.scaled(loss))
    >>> norm = adam.step(learning_rate=1e-3, max_norm=1.0)

Parameters, losses, gradients and moments stay float32 in every precision. What each setting does to the bits
is in docs/decisions/0083-precision-and-compile.md.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn

from reprokit.errors import CannotRunError

Precision = Literal["float32", "bfloat16", "float16"]
#: Of ``torch.compile``. ``max-autotune`` is none of them: it takes what was faster in a race.
Mode = Literal["default", "reduce-overhead"]

T = TypeVar("T")
_PRECISION, _COMPILE = "training.precision", "training.compile"


def compute_in(model: nn.Module, *, precision: Precision, mode: Mode | None) -> None:
    """Have ``model(…)`` computed so; what it returns is float32 all the same.

    Args:
        model: On its device already. Its parameters and their names stay as they are.
        precision: ``float32``, or what autocast puts in its place.
        mode: Of ``torch.compile``, with a program for every shape of the inputs; None to leave it as it is.

    Raises:
        CannotRunError: The device has no such thing, or there is no compiler.
    """
    device = next(model.parameters()).device.type
    if precision != "float32":
        _must_have(precision, device)
        model.forward = _in_autocast(model.forward, device=device, dtype=getattr(torch, precision))
    if mode is not None:
        _must_compile(mode, device)
        # Not model.compile(): it leaves a module of torch's own, such as nn.Sequential, as it is (2.13).
        model.forward = torch.compile(_called(model.forward), mode=mode, dynamic=False)


def _in_autocast(forward: Callable[..., Any], *, device: str, dtype: torch.dtype) -> Callable[..., Any]:
    def computed(*inputs: Any) -> Any:
        with torch.autocast(device, dtype=dtype):
            outputs = forward(*inputs)
        return tuple(one.float() for one in outputs) if isinstance(outputs, tuple) else outputs.float()

    return computed


def _called(forward: Callable[..., Any]) -> Callable[..., Any]:
    def called(*inputs: Any) -> Any:
        return forward(*inputs)

    return called


def _must_have(precision: Precision, device: str) -> None:
    if precision == "float16" and device == "xla":
        raise CannotRunError(
            "TPUs have no float16", where=_PRECISION, expected="float32 or bfloat16", actual=precision
        )


def _must_compile(mode: Mode, device: str) -> None:
    if device == "xla":
        raise CannotRunError(
            "XLA compiles every model by itself", where=_COMPILE, expected="null", actual=mode
        )
    if mode == "reduce-overhead" and device != "cuda":
        what = "reduce-overhead records the kernels of a GPU (CUDA graphs)"
        raise CannotRunError(
            what, where=_COMPILE, expected="default, or device: cuda", actual=f"device: {device}"
        )
    compilers = [name for name in (os.environ.get("CXX"), "g++", "clang++") if name]
    if not any(map(shutil.which, compilers)):
        raise CannotRunError(
            "torch.compile needs a C++ compiler, and the environment has none",
            where=_COMPILE,
            expected=" or ".join(compilers),
            fix="add g++ to system_packages of the variant in images/lock.toml, or set compile: null",
        )


class OneVector(Protocol):
    """An optimizer on one vector that holds all parameters of a model."""

    values: Tensor
    gradients: Tensor

    def step(self, *, learning_rate: float, max_norm: float) -> Tensor: ...
    def state_dict(self) -> dict[str, Tensor]: ...
    def load_state_dict(self, state: dict[str, Tensor], /) -> Any: ...


class UnscaledLoss:
    """What an optimizer does with a loss that needs no scale."""

    def scaled(self, loss: T) -> T:
        """The loss to be differentiated: itself."""
        return loss

    def record(self) -> dict[str, float]:
        """Nothing worth a metric."""
        return {}


class ScaledLoss:
    """An optimizer whose loss is scaled up, so that small gradients do not vanish in float16.

    The scale is that of ``torch.amp.GradScaler``: halved when a gradient is not finite, and that update is
    left out; doubled after 2,000 updates in a row that were not. It is part of the state.

    Args:
        adam: Steps with gradients that were scaled back.

    Raises:
        CannotRunError: torch scales no loss on this device.
    """

    def __init__(self, adam: OneVector) -> None:
        self.adam, self.gradients = adam, adam.gradients
        device = adam.values.device
        self.scaler = torch.amp.GradScaler(device.type)
        if not self.scaler.is_enabled():  # it warns, and would leave every loss as it is
            what = "torch scales no loss on this device"
            raise CannotRunError(what, where=_PRECISION, expected="float32 or bfloat16", actual=device.type)
        self.scaler.scale(torch.zeros((), device=device))  # with the first it makes what it keeps
        self.num_left_out = 0
        self._optimizer: Any = _Optimizer(adam)

    def scaled(self, loss: Any) -> Any:
        """The loss to be differentiated, or in numpy the slopes of one."""
        if isinstance(loss, Tensor):
            return self.scaler.scale(loss)
        return loss * loss.dtype.type(self.scaler.get_scale())

    def step(self, *, learning_rate: float, max_norm: float) -> Tensor:
        """Scale the gradients back; then step, unless one of them is not finite.

        Returns:
            The norm of the gradients, float32 []; 0 where the update was left out.
        """
        self.scaler.unscale_(self._optimizer)
        norm: Any = self.scaler.step(self._optimizer, learning_rate=learning_rate, max_norm=max_norm)
        self.scaler.update()
        if norm is None:
            self.num_left_out += 1
            return self.gradients.new_zeros(())
        return norm  # type: ignore[no-any-return]  # what ``adam.step`` gave

    def record(self) -> dict[str, float]:
        """The scale for the next update, and how many were left out so far."""
        return {"optim/loss_scale": self.scaler.get_scale(), "optim/updates_left_out": self.num_left_out}

    def state_dict(self) -> dict[str, Tensor]:
        """That of the optimizer, and what the next scale follows from."""
        found = self.scaler.state_dict()
        counts = {"growth_tracker": found["_growth_tracker"], "updates_left_out": self.num_left_out}
        own = {name: torch.tensor(count) for name, count in counts.items()}
        return {**self.adam.state_dict(), "loss_scale": torch.tensor(found["scale"]), **own}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take over what ``state_dict`` gave.

        Raises:
            KeyError: It is that of an optimizer whose loss had no scale.
        """
        scale, tracker = state["loss_scale"].item(), int(state["growth_tracker"])
        self.num_left_out = int(state["updates_left_out"])
        found = self.scaler.state_dict()
        self.scaler.load_state_dict({**found, "scale": scale, "_growth_tracker": tracker})
        self.adam.load_state_dict({name: state[name] for name in self.adam.state_dict()})


class _Optimizer:
    """As much of ``torch.optim.Optimizer`` as ``GradScaler`` asks for."""

    def __init__(self, adam: OneVector) -> None:
        whole = nn.Parameter(adam.values, requires_grad=False)
        whole.grad = adam.gradients
        self.param_groups, self.step = [{"params": [whole]}], adam.step


def put_back(own: Mapping[str, Tensor], state: Mapping[str, Tensor]) -> None:
    """Copy a state into the tensors that it was taken from.

    Raises:
        KeyError: Something is missing, or there is more than this optimizer has.
    """
    if unknown := sorted(state.keys() - own.keys()):
        raise KeyError(f"{', '.join(unknown)}: of a training in another precision")
    for name, tensor in own.items():
        tensor.copy_(state[name])
