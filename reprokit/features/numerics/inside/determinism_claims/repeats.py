"""One operation, repeated: whether outputs and gradients keep the bits of the first repeat."""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from reprokit.core.determinism_claims import BACKWARD, DIFFERS, FORWARD, RAISED, SAME
from reprokit.features.numerics.inside.determinism_claims.inputs import Case, Computation, Inputs
from reprokit.runtime.trace import digest

#: What an operation may raise that refuses, or that this device or dtype does not have.
REFUSALS = (AttributeError, ImportError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError)

_LONGEST = 200
_HEX_DIGITS = 16


def observe(case: Case, *, device: str, dtype: str, repeats: int, compiled: bool = False) -> dict[str, Any]:
    """Repeat an operation on the same inputs, under the settings that are in force.

    Returns:
        Phase → finding: ``outcome`` (``same``, ``differs``, ``raises``), ``digest`` of the first result,
        ``ms`` of the fastest, where there are any ``differing`` (repeats unlike the first) and ``warned``
        (of missing determinism); ``message`` where it raised. Without gradients there is no ``backward``.
    """
    make = Inputs(device=device, dtype=getattr(torch, dtype))
    watched = {FORWARD: _Watch(), BACKWARD: _Watch()}
    phase = FORWARD
    try:
        computation = case.build(make)
        if compiled:
            torch.compiler.reset()
            computation = torch.compile(computation)
        cotangents: list[Tensor] | None = None
        for _ in range(repeats):
            phase = FORWARD
            results = _forward(computation, watched[FORWARD])
            smooth = [result for result in results if result.requires_grad]
            if cotangents is None:
                cotangents = [make.like(one) for one in smooth]
            if smooth:
                phase = BACKWARD
                _backward(smooth, make.leaves, cotangents, watched[BACKWARD])
    except REFUSALS as error:
        watched[phase].message = _first_line(error)
    return {phase: found for phase, watch in watched.items() if (found := watch.finding())}


def cost(case: Case, *, device: str, dtype: str, pairs: int) -> dict[str, dict[str, float]]:
    """How much longer an operation takes with ``use_deterministic_algorithms(True)`` than with nothing set.

    Both are timed in turn, in changing order, so that a load on the machine falls on both.

    Returns:
        Phase → ``ratio``, the median over the pairs, and its quartiles ``low`` and ``high``. Nothing for an
        operation that fails in either mode.
    """
    ratios: dict[str, list[float]] = {FORWARD: [], BACKWARD: []}
    make = Inputs(device=device, dtype=getattr(torch, dtype))
    try:
        computation = case.build(make)
        cotangents: list[Tensor] | None = None
        for number in range(pairs + 1):
            seconds: dict[bool, list[float]] = {}
            for is_deterministic in (False, True) if number % 2 else (True, False):
                torch.use_deterministic_algorithms(is_deterministic)
                watches = (_Watch(), _Watch())
                smooth = [one for one in _forward(computation, watches[0]) if one.requires_grad]
                if cotangents is None:
                    cotangents = [make.like(one) for one in smooth]
                if smooth:
                    _backward(smooth, make.leaves, cotangents, watches[1])
                seconds[is_deterministic] = [second for watch in watches for second in watch.seconds]
            if number:  # the first pair warms both up
                for phase, longer, shorter in zip(ratios, seconds[True], seconds[False], strict=False):
                    ratios[phase].append(longer / shorter)
    except REFUSALS:
        return {}
    finally:
        torch.use_deterministic_algorithms(False)
    return {phase: _spread(found) for phase, found in ratios.items() if found}


def _spread(values: Sequence[float]) -> dict[str, float]:
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"ratio": round(middle, 2), "low": round(low, 2), "high": round(high, 2)}


@dataclass(slots=True, kw_only=True)
class _Watch:
    """What was seen of one phase so far."""

    first: list[Tensor] | None = None
    differing: int = 0
    warned: bool = False
    seconds: list[float] = field(default_factory=list)
    message: str = ""

    def add(
        self, results: Sequence[Tensor], *, seconds: float, heard: Sequence[warnings.WarningMessage]
    ) -> None:
        self.seconds.append(seconds)
        self.warned = self.warned or any("determinis" in str(one.message) for one in heard)
        mine = [_bits(result) for result in results]
        if self.first is None:
            self.first = [one.clone() for one in mine]
        elif not all(map(torch.equal, mine, self.first)):
            self.differing += 1

    def finding(self) -> dict[str, Any]:
        if self.message:
            return {"outcome": RAISED, "message": self.message}
        if self.first is None:
            return {}
        found: dict[str, Any] = {
            "outcome": DIFFERS if self.differing else SAME,
            "digest": digest(self.first)[:_HEX_DIGITS],
            "ms": round(min(self.seconds) * 1000, 3),
        }
        if self.differing:
            found["differing"] = self.differing
        if self.warned:
            found["warned"] = True
        return found


def _forward(computation: Computation, watch: _Watch) -> list[Tensor]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        started = _now()
        results = computation()
        seconds = _now() - started
    listed = list(results) if isinstance(results, tuple | list) else [results]
    watch.add(listed, seconds=seconds, heard=heard)
    return listed


def _backward(
    results: Sequence[Tensor], leaves: Sequence[Tensor], cotangents: Sequence[Tensor], watch: _Watch
) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        started = _now()
        gradients = torch.autograd.grad(results, leaves, cotangents, allow_unused=True)
        seconds = _now() - started
    watch.add([gradient for gradient in gradients if gradient is not None], seconds=seconds, heard=heard)


def _bits(tensor: Tensor) -> Tensor:
    """uint8: -0.0 and 0.0 differ, and a NaN equals only its own bits."""
    dense = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
    return dense.resolve_conj().resolve_neg().contiguous().flatten().view(torch.uint8)


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _first_line(error: BaseException) -> str:
    return (str(error).strip().split("\n")[0] or type(error).__name__)[:_LONGEST]
