"""Runs of one program under watch, each under surroundings that are chosen: what `diagnose` experiments with.

This module knows how such a run is made, compared and undone. It refuses to draw conclusions. Its folders
are no run folders: they stand among the reports, hold no ``run.json`` and never get COMPLETE.

    >>> with Laboratory(plan.specs[0], folder=folder, backend=LocalBackend(), progress=progress) as lab:
    ...     first = lab.run("first")
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reprokit import adapters, diagnosis, workspace
from reprokit.core.difference import Comparison
from reprokit.core.records import RunSpec
from reprokit.core.tolerance import Tolerances
from reprokit.diagnosis import Trace
from reprokit.errors import CannotRunError
from reprokit.execution import Backend
from reprokit.harness.running.apply_variations import changed, in_container
from reprokit.harness.running.execute import Progress
from reprokit.harness.running.hooked_run import (
    HASH_SEED,
    ORDERS,
    Places,
    bring_out,
    hooked,
    make_room,
    own_mounts,
    places_of,
)
from reprokit.layout import OUTPUT
from reprokit.workspace import cannot_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a run is made under.

    Attributes:
        pins: Call sites that get the values of the run ``like``; ``*`` for all of them.
        like: The run whose values, hash seed and leftovers are held, or None.
        hash_seed: Whether Python's hash seed is that run's too.
        fresh: Whether files that earlier runs left are put back as they were first.
        vary: What the hook is to vary.
        serial: Call sites whose threads take turns; ``*`` for all of them.
        level: How closely operations are watched.
        environment: Variables to set.
        run_folder: Name of the folder that the program is given.
        start: What a process inherits and is to be changed: words for ``execution/varied_start.py``.
        cpu: The CPU to emulate, or "".
        words: What is added to the command.
        command: What is run in the program's place; empty for the program itself.
        progress: Where the hook is to look into the training; empty for where it looked in the run ``like``.
    """

    pins: tuple[str, ...] = ()
    like: InstrumentedRun | None = None
    hash_seed: bool = False
    fresh: bool = False
    vary: tuple[str, ...] = ()
    serial: tuple[str, ...] = ()
    level: str = "light"
    environment: Mapping[str, str] = field(default_factory=dict)
    run_folder: str = "run"
    start: tuple[str, ...] = ()
    cpu: str = ""
    words: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    progress: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentedRun:
    """What a run left.

    Attributes:
        label: Its name.
        folder: Its folder: ``output/``, ``stdout.log``, ``stderr.log``.
        trace: What the hook left.
        traced: The hook's folder.
        key: What its chance was drawn from.
        hash_seed: Python's hash seed, or what the caller's environment says.
        trouble: Why it has no result, or "".
        duration_s: Wall clock.
    """

    label: str
    folder: Path
    trace: Trace
    traced: Path
    key: str
    hash_seed: str
    trouble: str
    duration_s: float


class Laboratory:
    """A place for the runs of one program. Leaving the context puts nothing back but itself.

    Args:
        spec: The run; its command may hold the placeholders.
        folder: For everything that the runs leave.
        files: What stands in every run's folder: relative name → content.
        backend: How programs are run.
        progress: Told what is run.
        budget: How many runs at most.
        tolerances: How far metrics may be off; None for not at all.
        ignore: Patterns of metrics to leave out.

    Attributes:
        deep: Whether operations are to be watched even where a line was found.
        draws: Whether every operation of PyTorch is looked at for draws from a generator without a seed.
        vary: Names of the variations to make, whatever they take; None for all but those made seldom.
    """

    def __init__(
        self,
        spec: RunSpec,
        *,
        folder: Path,
        backend: Backend,
        progress: Progress,
        budget: int,
        files: Mapping[str, bytes] | None = None,
        tolerances: Tolerances | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        self.spec, self.folder, self.progress = spec, folder, progress
        self.budget, self.made = budget, 0
        self._backend, self._files, self._ignore = backend, dict(files or {}), tuple(ignore)
        self._tolerances = tolerances
        self.draws = self.deep = False
        self.vary: tuple[str, ...] | None = None
        self._left: dict[str, diagnosis.OutsideFile] = {}

    def __enter__(self) -> Self:
        try:
            (self.folder / "traces").mkdir(parents=True)
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held open."""

    @property
    def left(self) -> Mapping[str, diagnosis.OutsideFile]:
        """Files outside the runs' folders that runs have written so far, as they were before the first."""
        return self._left

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.made >= self.budget

    def run(self, label: str, given: Conditions | None = None) -> InstrumentedRun:
        """Make one run.

        Args:
            label: Names its folder.
            given: The conditions; the natural ones when None.

        Raises:
            WorkspaceError: The folder cannot be written.
        """
        given = given or Conditions()
        self.made += 1
        label = f"{self.made:02d}-{label}"
        if given.fresh:
            restore(self._left)
        key, traced = secrets.token_hex(16), self.folder / "traces" / label
        stage = self.folder / given.run_folder
        hash_seed = self._hash_seed(given)
        try:
            traced.mkdir()
            (stage / OUTPUT).mkdir(parents=True)
            for name, content in self._files.items():
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                (stage / name).write_bytes(content)
            make_room(self.spec, stage)
            places = places_of(
                self.spec,
                stage=stage,
                traced=traced,
                apart=self.folder / "elsewhere",
                replay=given.like.traced if given.like else None,
            )
            workspace.write_json(traced / ORDERS, self._orders(given, places, key=key))
            shutil.copyfile(traced / ORDERS, self.folder / ORDERS)
        except OSError as error:
            raise cannot_write(stage, error) from error
        result = self._backend.run(
            self._hooked(given, places, stage=stage, hash_seed=hash_seed),
            stage,
            on_tick=lambda: self.progress.alive(label, "at work"),
        )
        bring_out(self.spec, stage, traced)
        stage.rename(self.folder / label)
        trace = diagnosis.read_trace(traced)
        ran = InstrumentedRun(
            label=label,
            folder=self.folder / label,
            trace=trace,
            traced=traced,
            key=key,
            hash_seed=hash_seed,
            trouble="" if result.completed else result.message,
            duration_s=result.duration_s,
        )
        for path, one in trace.files.items():
            if one.written is not None and not in_container(self.spec):  # a container's files go with it
                self._left.setdefault(path, one)
        return ran

    def compare(self, first: InstrumentedRun, second: InstrumentedRun) -> Comparison:
        """Whether two runs have the same numbers.

        Raises:
            MetricsError: One of them has none that could be compared.
        """
        return adapters.compare_runs(
            first.folder / OUTPUT,
            second.folder / OUTPUT,
            tolerances=self._tolerances,
            ignore=self._ignore,
        )

    def equal(self, first: InstrumentedRun, second: InstrumentedRun) -> bool:
        """Whether two runs have the same numbers; a run that failed is like no other."""
        return not second.trouble and self.compare(first, second).within_tolerance

    def _hash_seed(self, given: Conditions) -> str:
        if HASH_SEED in given.environment:
            return given.environment[HASH_SEED]
        if given.hash_seed and given.like is not None:
            return given.like.hash_seed
        inherited = os.environ.get(HASH_SEED, "") if self.spec.inherit_environment else ""
        fixed = self.spec.environment.get(HASH_SEED, inherited)
        return fixed if fixed not in {"", "random"} else str(1 + secrets.randbelow(2**32 - 2))

    @property
    def hash_is_fixed(self) -> bool:
        """Whether the program's hash seed is fixed by its environment."""
        return self._hash_seed(Conditions()) == self._hash_seed(Conditions())

    def _orders(self, given: Conditions, places: Places, *, key: str) -> dict[str, Any]:
        return {
            "out": places.out,
            "output": places.output,
            "key": key,
            "pins": list(given.pins),
            "replay": places.replay,
            "replay_key": given.like.key if given.like else None,
            "vary": list(given.vary),
            "serial": list(given.serial),
            "level": given.level,
            "draws": self.draws,
            "apart": places.apart,
            "progress": dict(given.progress) or (diagnosis.schedules(given.like.trace) if given.like else {}),
        }

    def _hooked(self, given: Conditions, places: Places, *, stage: Path, hash_seed: str) -> RunSpec:
        spec = own_mounts(self.spec, stage, names=tuple(self._files))
        spec = replace(spec, command=(*(given.command or spec.command), *given.words))
        spec = hooked(spec, places, environment={HASH_SEED: hash_seed, **given.environment})
        return changed(spec, start=given.start, cpu=given.cpu)


def need(ran: InstrumentedRun) -> InstrumentedRun:
    """A run, where nothing can go on without its result.

    Raises:
        CannotRunError: It did not come to its end, or the hook was not loaded.
    """
    if ran.trouble:
        raise CannotRunError(
            f"the program did not come to its end: {ran.trouble}",
            where=str(ran.folder),
            fix=f"see {ran.folder / 'stderr.log'}",
        )
    return ran


def restore(left: Mapping[str, diagnosis.OutsideFile]) -> None:
    """Put files back as they were before the first run: contents, or absence. Folders go once empty."""
    for one in sorted(left.values(), key=lambda found: -len(found.path)):
        path = Path(one.path)
        if one.kept is not None:
            shutil.copy2(one.kept, path)
        elif not one.existed and path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif not one.existed:
            path.unlink(missing_ok=True)
