"""The operation that rounds differently on another CPU, among those that a recipe really calls.

The calls of a native run are listed, answered natively, and answered on the other CPU with the same inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprokit.core.records import STOPPED_EARLY, Mount
from reprokit.errors import CannotRunError
from reprokit.harness.running.first_updates import FirstUpdatesRunner, PartialRun, need
from reprokit.harness.running.varying.emulation import EmulatedCpu
from reprokit.layout import OUTPUT, read_json

_RECORDER = "reprokit.features.numerics.inside.operation_recorder"
_REPLAY = "reprokit.features.numerics.inside.operation_replay"
_REMEDIES = {
    "sqrt": "let an optimizer take its root in the fused kernel (torch.optim.Adam(fused=True)), "
    "which uses the CPU's exact square root; torch.sqrt starts from an approximation of the CPU's own",
}
_REMEDY = "`reprokit help portable-numerics` lists what each setting makes portable"


@dataclass(frozen=True, slots=True, kw_only=True)
class NonportableOperation:
    """An operation that gives other bits for the same inputs.

    Attributes:
        operation: As the library calls it: ``aten._foreach_sqrt.default``, ``numpy.exp``.
        calls: How often the recipe called it in the updates that were listened to.
        differing: Results that differ, of the call that shows it most.
        recorded: Whether its inputs are the training's own; else fixed numbers of the same kind.
    """

    operation: str
    calls: int
    differing: int
    elements: int
    recorded: bool
    shape: tuple[int, ...]
    dtype: str

    @property
    def name(self) -> str:
        """As a person calls it: ``sqrt``."""
        return plain_name(self.operation)

    @property
    def told(self) -> str:
        also = "" if self.name == self.operation else f" ({self.operation})"
        whose = "inputs of this training" if self.recorded else "fixed inputs"
        share = f"{self.differing:,} of {self.elements:,} results on {whose}"
        return f"`{self.name}`{also} gives different bits in {share}"

    @property
    def remedy(self) -> str:
        return _REMEDIES.get(self.name, _REMEDY)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFiles:
    """The folder of a recipe's ``calls.pt`` and native ``answers.pt``, and how often each was called."""

    folder: Path
    counts: Mapping[str, int]


def plain_name(operation: str) -> str:
    """What a person calls an operation of PyTorch's dispatcher; numpy's keep their names."""
    library, _, rest = operation.partition(".")
    if library == "numpy":
        return operation
    return rest.split(".")[0].removeprefix("_foreach_").strip("_")


def list_calls(bench: FirstUpdatesRunner, *, updates: int) -> CallFiles:
    """Listen to a native run of so many updates, and answer every call once natively."""
    words = ("--output", "{run_dir}/calls.pt", "--")
    recorded = bench.beside(
        "operations", _RECORDER, *words, option="--max-updates", updates=updates, ends_with=STOPPED_EARLY
    )
    folder = need(recorded, "the operations could not be listed").folder / OUTPUT
    answered = _replayed(bench, "operations-native", folder, "--write", "{run_dir}/answers.pt")
    need(answered, "the operations could not be run one by one")
    try:
        (answered.folder / OUTPUT / "answers.pt").replace(folder / "answers.pt")
    except OSError as error:
        raise CannotRunError(f"cannot be moved: {error.strerror}", where=str(folder)) from error
    return CallFiles(folder=folder, counts=read_json(folder / "calls.json"))


def find(bench: FirstUpdatesRunner, calls: CallFiles, cpu: EmulatedCpu) -> tuple[NonportableOperation, ...]:
    """The operations that answer otherwise on a CPU, those with inputs of the training first."""
    label = f"operations-{cpu.name}"
    words = ("--against", "{calls}/answers.pt", "--output", "{run_dir}/told.json")
    left = need(
        _replayed(bench, label, calls.folder, *words, cpu=cpu), "the operations could not be run there"
    )
    told = read_json(left.folder / OUTPUT / "told.json")
    return tuple(_guilty(entry) for entry in told.get("differing") or ())


def _replayed(
    bench: FirstUpdatesRunner, label: str, calls: Path, *options: str, cpu: EmulatedCpu | None = None
) -> PartialRun:
    """Run the operations of ``calls.pt`` in a folder again, which ``options`` call ``{calls}``."""
    words = ("{python}", "-m", _REPLAY, "{calls}/calls.pt", *options)
    return bench.program(label, *words, mount=Mount(name="calls", path=str(calls)), cpu=cpu)


def sentence(found: Sequence[NonportableOperation], *, num_operations: int) -> str:
    """Who is to blame, in one clause."""
    if not found:
        return (
            f"none of the {num_operations} recorded operations differs by itself: look at "
            "operators and methods of numpy arrays, and at what other libraries compute"
        )
    sure = [one for one in found if one.recorded] or list(found)
    names = [one.told for one in sure[:3]]
    more = f", and {len(sure) - 3} more" if len(sure) > 3 else ""
    return f"of the {num_operations} operations that it calls, {'; '.join(names)}{more}"


def _guilty(entry: Mapping[str, Any]) -> NonportableOperation:
    return NonportableOperation(
        operation=str(entry["operation"]),
        calls=int(entry["calls"]),
        differing=int(entry["differing"]),
        elements=int(entry["elements"]),
        recorded=entry["inputs"] == "recorded",
        shape=tuple(entry["shape"]),
        dtype=str(entry["dtype"]),
    )
