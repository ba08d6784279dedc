"""The first updates of a recipe, natively or on an emulated CPU: folders, programs, what they left.

Its folders are no run folders: they lie among the reports, hold no ``run.json`` and never get COMPLETE.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from reprokit.core.records import STOPPED_EARLY, Mount, Outcome, RunResult, RunSpec
from reprokit.errors import CannotRunError, MetricsError, UsageError
from reprokit.execution import Backend
from reprokit.harness.running.plan import RunPlan
from reprokit.harness.running.programs import program_output
from reprokit.harness.running.programs.furnish import furnish
from reprokit.harness.running.programs.hooked_run import own_mounts
from reprokit.harness.running.varying.emulation import ASK, EmulatedCpu, answered, look_at, under
from reprokit.layout import METRICS, OUTPUT, STDERR, STDOUT, TRACE
from reprokit.session import Progress
from reprokit.workspace import cannot_write

LOGS = (STDOUT, STDERR)
_SYSTEM_CALLS = ".system-calls"
_WRITE_CALLS = ("-d", "strace", "-D", f"{{run_dir}}/{_SYSTEM_CALLS}")
_LAUNCHER = "reprokit.runtime.launch"
#: One process for each of two cores: an emulated run takes half a gigabyte.
_SIDE_BY_SIDE = 2

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialRun:
    """The folder that a program left, why it did not come to where it was to stop, and whether for time."""

    folder: Path
    trouble: str = ""
    overdue: bool = False

    @property
    def canonical(self) -> Path:
        """The metrics of an unmodified program, as the host wrote them."""
        return self.folder / METRICS

    @property
    def system_calls(self) -> Path:
        """What the emulator wrote of an unmodified program's system calls."""
        return self.folder / OUTPUT / _SYSTEM_CALLS

    @property
    def trace(self) -> Path:
        return self.folder / OUTPUT / TRACE

    @property
    def metrics(self) -> Path:
        return self.folder / OUTPUT / METRICS


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUpdatesRunner:
    """Where the first updates of one recipe and seed are made; ``stop`` is set to end every program."""

    plan: RunPlan
    folder: Path
    updates: int
    emulator: str
    backend: Backend
    progress: Progress
    stop: threading.Event

    @property
    def spec(self) -> RunSpec:
        return self.plan.specs[0]

    def look_at(self, cpu: str) -> EmulatedCpu:
        """What an emulated CPU really has, asked where the training will run."""
        realisation = self.spec.realisation
        if realisation is None or realisation.kind != "image":
            return look_at(cpu, emulator=self.emulator, python=realisation.python if realisation else "")
        asked = EmulatedCpu(name=cpu, avx2=False)
        spec = self._with(("{python}", "-I", "-c", ASK))
        left = self._run(f"asked-{cpu}", spec, cpu=asked, ends_with=0)
        told = [(left.folder / name).read_text(encoding="utf-8", errors="replace") for name in LOGS]
        return answered(cpu, stdout=told[0], stderr=told[1])

    def train(self, label: str, *, cpu: EmulatedCpu | None = None) -> PartialRun:
        spec = self._with(self._words("--max-updates", self.updates))
        return self._run(label, spec, cpu=cpu, ends_with=STOPPED_EARLY)

    def whole(
        self, label: str, words: Sequence[str], *, cpu: EmulatedCpu | None = None, seed: int | None = None
    ) -> PartialRun:
        """Run an unmodified program to its end; an emulated one with its system calls written down.

        ``seed``: another one than the plan's, or None.

        Raises:
            MetricsError: It leaves no metrics.
        """
        spec = self._with(words)
        spec = spec if seed is None else replace(spec, seed=seed)
        left = self._run(label, spec, cpu=cpu, ends_with=0, options=_WRITE_CALLS)
        if self.plan.program is not None:
            found = program_output.collect(left.folder, self.plan.program)
            if not left.trouble:
                found = found or program_output.write_metrics(left.folder, self.plan.program)
            if problem := found.get("metrics_problem"):
                raise MetricsError(problem.pop("what"), **problem)
        return left

    def beside(
        self, label: str, module: str, *words: str, option: str, updates: int, ends_with: int
    ) -> PartialRun:
        """Train with a module in the launcher's place, which trains and looks.

        Args:
            label: Name of its folder.
            module: What ``python -m`` starts; the launcher's own words follow its own.
            words: The module's own words.
            option: Its option that says after how many updates it ends.
            updates: So many.
            ends_with: The exit code of a whole run.

        Raises:
            UsageError: The recipe trains on several ranks.
        """
        command = self._words(option, updates)
        at = _place_of_launcher(command)
        command[at : at + 1] = [module, *words]
        return self._run(label, self._with(command), ends_with=ends_with)

    def program(
        self, label: str, *words: str, mount: Mount | None = None, cpu: EmulatedCpu | None = None
    ) -> PartialRun:
        """Run another program where the training would run, with a folder to read."""
        spec = self._with(words)
        spec = replace(spec, mounts=(*spec.mounts, mount)) if mount is not None else spec
        return self._run(label, spec, cpu=cpu, ends_with=0)

    def _run(
        self,
        label: str,
        spec: RunSpec,
        *,
        ends_with: int,
        cpu: EmulatedCpu | None = None,
        options: tuple[str, ...] = (),
    ) -> PartialRun:
        folder = self.folder / label
        try:
            furnish(folder, self.plan)
        except OSError as error:
            raise cannot_write(folder, error) from error
        spec = own_mounts(spec, folder)
        if cpu is not None:
            spec = under(spec, cpu=cpu.name, emulator=self.emulator, options=options)
        result = self.backend.run(spec, folder, on_tick=lambda: self._tick(label))
        overdue = result.outcome is Outcome.TIMED_OUT
        return PartialRun(folder=folder, trouble=_trouble(result, ends_with=ends_with), overdue=overdue)

    def _with(self, words: Sequence[str]) -> RunSpec:
        return replace(self.spec, command=tuple(words))

    def _words(self, option: str, updates: int) -> list[str]:
        at = self.spec.command.index("--")
        return [*self.spec.command[:at], option, str(updates), *self.spec.command[at:]]

    def _tick(self, label: str) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt
        seen = "at work"
        with contextlib.suppress(OSError):
            lines = (self.folder / label / OUTPUT / TRACE).read_bytes().count(b"\n")
            seen = f"{lines} of {self.updates} updates"
        self.progress.alive(label, seen)


def side_by_side(
    one: Callable[[_Item], _Result], items: Iterable[_Item], *, stop: threading.Event
) -> list[_Result]:
    """Do a thing for every item, two at a time; an interruption ends all of them."""
    with ThreadPoolExecutor(max_workers=_SIDE_BY_SIDE) as pool:
        futures = [pool.submit(one, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C, or a fault in one thread: nothing may continue behind it
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def need(left: PartialRun, what: str) -> PartialRun:
    """What a program left; a ``CannotRunError`` where it did not come to its end."""
    if left.trouble:
        raise CannotRunError(f"{what}: {left.trouble}", where=str(left.folder), fix="see stderr.log there")
    return left


def _trouble(result: RunResult, *, ends_with: int) -> str:
    if result.exit_code == ends_with and result.outcome in {Outcome.COMPLETED, Outcome.CRASHED}:
        return ""
    return result.message or f"it ended with exit code {result.exit_code}"


def _place_of_launcher(words: Sequence[str]) -> int:
    """Which of the words starts a training of one process.

    Raises:
        UsageError: The recipe trains on several ranks.
    """
    if _LAUNCHER in words:
        return words.index(_LAUNCHER)
    raise UsageError("one process is looked into, and the recipe has ranks", fix="`--set ranks=null`")
