"""What came of one recipe on one CPU, and where its first updates part from what they are compared with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from reprokit import adapters
from reprokit.compressed import open_stored
from reprokit.errors import MetricsError
from reprokit.features.numerics.nonportable_ops import NonportableOperation
from reprokit.harness.judging.differences.trace_comparison import compare_traces, count_records
from reprokit.harness.running.first_updates import PartialRun
from reprokit.harness.running.varying.emulation import EmulatedCpu


class CpuVerdict(StrEnum):
    """What was found on one CPU."""

    REPRODUCED = "REPRODUCED"
    NOT_PORTABLE = "NOT_PORTABLE"
    DIFFERS_NATIVELY = "DIFFERS_NATIVELY"
    ANOTHER_PLATFORM = "ANOTHER_PLATFORM"
    NOT_RUN = "NOT_RUN"
    UNJUDGED = "UNJUDGED"
    UNUSABLE = "UNUSABLE"


_EXIT_CODES = {
    CpuVerdict.REPRODUCED: 0,
    CpuVerdict.NOT_PORTABLE: 1,
    CpuVerdict.DIFFERS_NATIVELY: 1,
    CpuVerdict.ANOTHER_PLATFORM: 4,
    CpuVerdict.NOT_RUN: 3,
    CpuVerdict.UNJUDGED: 4,
    CpuVerdict.UNUSABLE: 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuAnswer:
    """What came of one recipe, seed and CPU.

    Attributes:
        seed: The seed, or None where it did not come so far.
        cpu: ``native``, or the model as it was really emulated.
        against: ``the golden`` or ``the native run``.
        first: Where they part: ``update``, ``step``, ``what``, ``expected``, ``actual``; or None.
        folder: Where everything lies that was obtained, and what was expected.
    """

    recipe: str
    seed: int | None = None
    cpu: str
    verdict: CpuVerdict
    sentence: str
    against: str = ""
    updates: int = 0
    first: dict[str, Any] | None = None
    guilty: tuple[NonportableOperation, ...] = field(default_factory=tuple)
    remedy: str = ""
    folder: Path | None = None

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES[self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What the first updates are compared with: files that hold no more than these."""

    trace: Path
    metrics: Path
    name: str


def first_difference(measure: Measure, left: PartialRun) -> dict[str, Any] | None:
    """Where a run parts from the measure: in its trace, or in metrics that the trace does not decide."""
    traced = compare_traces(measure.trace, left.trace)
    if not traced.equal and traced.first is not None:
        return {"update": traced.records_compared, **traced.first}
    return metrics_difference(measure.metrics, left.metrics) if count_records(measure.metrics) else None


def metrics_difference(expected: Path, actual: Path) -> dict[str, Any] | None:
    """Where two metrics files part; None where they are equal in every bit."""
    try:
        compared = adapters.compare(expected, actual)
    except MetricsError as error:
        return {"update": None, "step": None, "what": str(error), "expected": None, "actual": None}
    if compared.identical:
        return None
    first = compared.divergence
    if first is None:
        what = compared.problems[0].message if compared.problems else "metrics"
        return {"update": None, "step": None, "what": what, "expected": None, "actual": None}
    return {
        "update": None if first.record is None else first.record + 1,
        "step": first.step,
        "what": f"metric {first.metric}",
        "expected": first.expected,
        "actual": first.actual,
    }


def another_platform(answer: CpuAnswer, cpu: EmulatedCpu) -> CpuAnswer:
    """The answer of a CPU that cannot run portable programs, or cannot be emulated."""
    lacks = cpu.trouble or "it has no AVX2 with FMA"
    return replace(
        answer,
        verdict=CpuVerdict.ANOTHER_PLATFORM,
        updates=0,
        sentence=f"{lacks}: another platform (cpu-x86_64-noavx2), which has goldens of its own",
        remedy="name a CPU with AVX2, or promote goldens of that platform on such a machine",
    )


def where(first: dict[str, Any]) -> str:
    """``update 1 (step 4096, parameters policy_weight)``."""
    what = str(first["what"]).replace(".", " ", 1)
    return f"update {first['update']} (step {first['step']}, {what})" if first["update"] else what


def head(path: Path, *, lines: int) -> bytes:
    """The first lines of a file."""
    with open_stored(path) as stream:
        return b"".join(line for _, line in zip(range(lines), stream, strict=False))
