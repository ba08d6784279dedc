"""How every operation that training uses rounds here: fixed inputs in, one digest an operation out.

Two machines whose digests of ``torch.exp`` differ round it differently; neither is wrong, and it matters
only to recipes that call it.

    $ python -m reprokit.probes.rounding_probe
    {"version": 1, "device": "cpu", "digests": {"torch.sqrt float32": "5d41…", …}, "missing": {}}

Inputs are assembled from bits by integer arithmetic (``fixed_inputs``), so no CPU can round them.
They are many (16,384 for an elementwise function) and spread over exponents, because two roundings
mostly agree: of 16,384 roots, 2,743 differed. No generator of the program is drawn from, no setting
is touched. ``VERSION`` goes up whenever a change to this file can change a digest.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from reprokit.capture import probe as environment
from reprokit.core import numerics
from reprokit.probes.fixed_inputs import float32s, float64s
from reprokit.runtime import settings
from reprokit.runtime.trace import digest

VERSION = 1

_MANY = 16_384
_FEW = 2_048

# What an operation may raise that this build, or this device, does not have.
_ABSENT = (AttributeError, NotImplementedError, RuntimeError, TypeError)

Operations = Mapping[str, Callable[[], Any]]


def probe(*, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Run every operation once, torch's on ``device``.

    Returns:
        ``version``, ``device``, ``digests`` (operation → 32 hex digits) and ``missing`` (operation →
        why it could not be run); operations that differ between two records round differently.
    """
    place = torch.device(device)
    digests: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name, operation in operations(place).items():
        try:
            with torch.no_grad(), np.errstate(all="ignore"):
                digests[name] = digest(operation())
        except _ABSENT as error:
            missing[name] = str(error).split("\n")[0][:160] or type(error).__name__
    return {"version": VERSION, "device": place.type, "digests": digests, "missing": missing}


def operations(device: torch.device) -> Operations:
    """Name → what computes it, of every operation that is probed; a name begins with its library."""
    return {
        **_elementwise(device),
        **_matrix_products(device),
        **_reductions(device),
        **_network_layers(device),
        **_optimizers(device),
        **_torch_random(device),
        **_numpy(),
        **_python(),
    }


def _elementwise(device: torch.device) -> Operations:
    inputs = {
        "float32": torch.from_numpy(float32s(_MANY, stream=1)).to(device),
        "float64": torch.from_numpy(float64s(_FEW, stream=2)).to(device),
    }
    found: dict[str, Callable[[], Any]] = {}
    for dtype, values in inputs.items():
        for name in ("exp", "tanh", "sigmoid", "relu", "gelu", "silu", "softplus", "sin", "cos", "erf"):
            library = functional if name in {"gelu", "silu", "softplus"} else torch
            found[f"torch.{name} {dtype}"] = functools.partial(getattr(library, name), values)
        for name in ("log", "sqrt", "rsqrt", "log1p", "reciprocal"):
            found[f"torch.{name} {dtype}"] = functools.partial(getattr(torch, name), values.abs())
        found[f"torch.pow {dtype}"] = functools.partial(torch.pow, values.abs(), exponent=0.7)
    return found


def _matrix_products(device: torch.device) -> Operations:
    """Products in the shapes of small policies, a convolution, and what linear algebra initialises with."""

    def matrix(*shape: int, stream: int) -> Tensor:
        return torch.from_numpy(float32s(math.prod(shape), stream=stream)).reshape(shape).to(device)

    small, wide = matrix(8, 4, stream=10), matrix(256, 64, stream=11)
    into, square, out = matrix(4, 64, stream=12), matrix(64, 64, stream=13), matrix(64, 2, stream=14)
    bias, pairs = matrix(64, stream=15), matrix(2, 256, 64, stream=16)
    weights, biases = matrix(2, 64, 64, stream=17), matrix(2, 1, 64, stream=18)
    images, kernels = matrix(4, 3, 16, 16, stream=19), matrix(8, 3, 3, 3, stream=20)
    return {
        "torch.mm 8x4x64": lambda: small @ into,
        "torch.mm 256x64x64": lambda: wide @ square,
        "torch.mm 256x64x64 transposed": lambda: wide @ square.T,
        "torch.mm 64x256x64 gradient": lambda: wide.T @ wide,
        "torch.mm 256x64x2": lambda: wide @ out,
        "torch.mv 256x64": lambda: wide @ bias,
        "torch.addmm 256x64x64": lambda: torch.addmm(bias, wide, square),
        "torch.bmm 2x256x64x64": lambda: torch.bmm(pairs, weights),
        "torch.baddbmm 2x256x64x64": lambda: torch.baddbmm(biases, pairs, weights),
        "torch.mm 64x64x64 float64": lambda: square.double() @ square.double(),
        "torch.conv2d 4x3x16x16": lambda: functional.conv2d(images, kernels),
        "torch.nn.init.orthogonal_": lambda: torch.nn.init.orthogonal_(
            torch.empty(64, 64, device=device), generator=torch.Generator(device).manual_seed(1)
        ),
    }


def _reductions(device: torch.device) -> Operations:
    flat = torch.from_numpy(float32s(_MANY, stream=30)).to(device)
    rows = flat.reshape(256, 64)
    targets = torch.arange(256, device=device) % 64
    return {
        "torch.sum": flat.sum,
        "torch.sum rows": lambda: rows.sum(dim=0),
        "torch.mean": flat.mean,
        "torch.std": flat.std,
        "torch.var rows": lambda: rows.var(dim=1),
        "torch.norm": lambda: torch.linalg.vector_norm(flat),
        "torch.cumsum": lambda: flat.cpu().cumsum(0),
        "torch.logsumexp": lambda: rows.logsumexp(dim=1),
        "torch.softmax": lambda: rows.softmax(dim=1),
        "torch.log_softmax": lambda: rows.log_softmax(dim=1),
        "torch.log_softmax 2 classes": lambda: flat.reshape(-1, 2).log_softmax(dim=1),
        "torch.cross_entropy": lambda: functional.cross_entropy(rows, targets),
        "torch.mse_loss": lambda: functional.mse_loss(rows[:128], rows[128:]),
        "torch.layer_norm": lambda: functional.layer_norm(rows, (64,)),
    }


def _network_layers(device: torch.device) -> Operations:
    """Layers of networks for images and text, each with what it sends back to its inputs."""

    def values(*shape: int, stream: int) -> Tensor:
        return torch.from_numpy(float32s(math.prod(shape), stream=stream)).reshape(shape).to(device)

    def with_gradients(operation: Callable[..., Tensor], *inputs: Tensor) -> list[Tensor]:
        with torch.enable_grad():
            leaves = [one.clone().requires_grad_() for one in inputs]
            result = operation(*leaves)
            # Without a gradient that is handed in, for which PyTorch would import sympy (1.5 s).
            torch.autograd.backward((result * (0.5 * result.detach())).sum())
            return [result.detach(), *(leaf.grad for leaf in leaves if leaf.grad is not None)]

    def formula(queries: Tensor, keys: Tensor, others: Tensor) -> Tensor:
        scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
        later = torch.full((64, 64), -math.inf, device=device).triu(1)
        return (scores + later).softmax(dim=-1) @ others

    rows, scale = values(256, 64, stream=80), values(64, stream=81)
    heads = [values(2, 4, 64, 32, stream=stream) for stream in (82, 83, 84)]
    images, kernels = values(4, 3, 16, 16, stream=85), values(8, 3, 3, 3, stream=86)
    table, words = values(84, 64, stream=87), (torch.arange(768, device=device) * 31 % 84).view(12, 64)
    targets = torch.arange(256, device=device) % 64
    fused = functools.partial(functional.scaled_dot_product_attention, is_causal=True)
    layers: dict[str, tuple[Callable[..., Tensor], Sequence[Tensor]]] = {
        "gelu": (functional.gelu, [rows]),
        "softmax": (functools.partial(torch.softmax, dim=1), [rows]),
        "cross_entropy": (lambda scores: functional.cross_entropy(scores, targets), [rows]),
        "layer_norm": (lambda x, weight: functional.layer_norm(x, (64,), weight), [rows, scale]),
        "embedding": (lambda weight: functional.embedding(words, weight), [table]),
        "conv2d": (functional.conv2d, [images, kernels]),
        "max_pool2d": (lambda x: functional.max_pool2d(x, 2), [images]),
        "attention fused": (fused, heads),
        "attention formula": (formula, heads),
    }
    return {
        f"torch.{name} with gradient": functools.partial(with_gradients, operation, *inputs)
        for name, (operation, inputs) in layers.items()
    }


def _optimizers(device: torch.device) -> Operations:
    """One step of each optimizer from moments that are there already, fused and not."""

    def state() -> list[Tensor]:
        weight, gradient, first, second = (
            torch.from_numpy(float32s(_MANY, stream=stream)).to(device) for stream in (40, 41, 42, 43)
        )
        return [weight, gradient, first, second.abs()]

    def fused(step: Callable[..., None], *, weight_decay: float) -> Tensor:
        weight, gradient, first, second = state()
        step(
            [weight],
            [gradient],
            [first],
            [second],
            [],
            [torch.tensor(3.0, device=device)],
            lr=3e-4,
            beta1=0.9,
            beta2=0.999,
            weight_decay=weight_decay,
            eps=1e-5,
            amsgrad=False,
            maximize=False,
        )
        return weight

    def adam_plain() -> Tensor:
        weight, gradient, first, second = state()
        first.lerp_(gradient, 0.1)
        second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        return weight.addcdiv_(first, second.sqrt().add_(1e-5), value=-3e-4)

    def sgd_plain() -> Tensor:
        weight, gradient, first, _ = state()
        return weight.add_(first.mul_(0.9).add_(gradient), alpha=-3e-4)

    return {
        "torch.Adam fused": lambda: fused(torch._fused_adam_, weight_decay=0.0),
        "torch.AdamW fused": lambda: fused(torch._fused_adamw_, weight_decay=0.1),
        "torch.Adam plain": adam_plain,
        "torch.SGD plain": sgd_plain,
    }


def _torch_random(device: torch.device) -> Operations:

    def generator() -> torch.Generator:
        return torch.Generator(device).manual_seed(42)

    weights = torch.from_numpy(float32s(64, stream=50)).abs().to(device)
    return {
        "torch.rand": lambda: torch.rand(_FEW, generator=generator(), device=device),
        "torch.randn": lambda: torch.randn(_FEW, generator=generator(), device=device),
        "torch.randperm": lambda: torch.randperm(_FEW, generator=generator(), device=device),
        "torch.exponential_": lambda: torch.empty(_FEW, device=device).exponential_(generator=generator()),
        "torch.multinomial": lambda: torch.multinomial(weights, 256, replacement=True, generator=generator()),
    }


def _numpy() -> Operations:
    single, double = float32s(_MANY, stream=60), float64s(_MANY, stream=61)
    left, right = single.reshape(256, 64), single.reshape(64, 256)
    found: dict[str, Callable[[], Any]] = {}
    for name in ("exp", "tanh", "sin", "cos", "log", "sqrt", "log1p"):
        for values in (single, double):
            inputs = np.abs(values) if name in {"log", "sqrt", "log1p"} else values
            found[f"numpy.{name} {values.dtype}"] = functools.partial(getattr(np, name), inputs)
    return found | {
        "numpy.power float64": lambda: np.power(np.abs(double), 0.7),
        "numpy.matmul float32": lambda: left @ right,
        "numpy.matmul float64": lambda: left.astype(np.float64) @ right.astype(np.float64),
        "numpy.sum float32": single.sum,
        "numpy.mean float64": double.mean,
        "numpy.std float32": single.std,
        "numpy.linalg.norm": lambda: np.linalg.norm(single),
        "numpy.random uniform": lambda: np.random.default_rng(42).random(_FEW),
        "numpy.random normal": lambda: np.random.default_rng(42).standard_normal(_FEW),
        "numpy.random legacy normal": lambda: np.random.RandomState(42).randn(_FEW),
    }


def _python() -> Operations:
    """Python's own functions, which are the C library's, and its random stream."""
    values = [abs(value) for value in float64s(1_024, stream=70).tolist()]
    functions = {"exp": math.exp, "log": math.log, "sin": math.sin, "tanh": math.tanh, "sqrt": math.sqrt}

    def gauss() -> list[float]:
        stream = random.Random(42)  # noqa: S311 - no secret
        return [stream.gauss(0.0, 1.0) for _ in range(256)]

    found: dict[str, Callable[[], Any]] = {
        f"python.{name}": functools.partial(_each, function, values) for name, function in functions.items()
    }
    return found | {
        "python.pow": lambda: [value**0.7 for value in values],
        "python.sum": lambda: sum(values),
        "python.random normal": gauss,
    }


def _each(function: Callable[[float], float], values: Sequence[float]) -> list[float]:
    return [function(value) for value in values]


def main(arguments: Sequence[str]) -> int:
    """Print the probe and, as ``numerics``, the profile that was in force; or write both to a file."""
    parser = argparse.ArgumentParser(prog="python -m reprokit.probes.rounding_probe")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--output", type=Path, help="file to write  [default: standard output]")
    options = parser.parse_args(arguments)
    at_start = settings.variables_at_start()
    facts = environment.collect(with_torch=True, device=options.device)
    held = settings.verify(profile=at_start.get(numerics.MARK), facts=facts, at_start=at_start)
    text = json.dumps({**probe(device=options.device), "numerics": held}, indent=1) + "\n"
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
