"""The members of a sweep that are not finished, run several at a time, each in a folder of its own."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from reprokit import runs
from reprokit.core.records import RunResult
from reprokit.errors import CannotRunError
from reprokit.harness.running.attempts import unless_attempts_differ
from reprokit.harness.running.engine import BeforeClose, Engine, WhyStop, as_it_ended
from reprokit.harness.running.plan import RunPlan
from reprokit.harness.running.resuming.joined_run import join_with_earlier
from reprokit.harness.running.run_kinds import ResumePoint
from reprokit.harness.running.threads_of_runs import in_threads
from reprokit.harness.sweeping.groups import SweepGroup
from reprokit.harness.sweeping.results import chosen_return, last_return
from reprokit.layout import METRICS, OUTPUT
from reprokit.recipes import Recipe
from reprokit.runs.listing import key_of
from reprokit.runs.log_tail import last_object
from reprokit.runs.sweeps import MemberState, SweepMember, state_of
from reprokit.session import HowFar, Progress, Session


class SweepProgress(Progress, Protocol):
    """What a person is told of a sweep while it runs."""

    def member(self, label: str, how_far: HowFar, /) -> None:
        """How far a member is; called about twice a second while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSession(Session):
    """A command that makes a sweep: its progress display shows members too."""

    progress: SweepProgress


#: A record that is written in less is written at every change; a slower one takes 5 % of the time.
_QUICK_S, _SHARE = 0.05, 0.05


@dataclass(slots=True, kw_only=True)
class SweepMembers:
    """The members of a sweep as they are now; every change is recorded before anyone is told.

    Where there are so many that writing the record takes long, it lags behind: nothing rests on it, because
    how far a member is follows from its run folder. ``settle`` writes what is due, at the end all of it.
    """

    members: list[SweepMember]
    record: Callable[[Sequence[SweepMember]], object]
    lock: threading.Lock = field(default_factory=threading.Lock)
    clock: Callable[[], float] = time.monotonic
    _took_s: float = 0.0
    _written_at: float = 0.0
    _lags: bool = False

    def change(self, at: int, member: SweepMember) -> None:
        """A member has come further."""
        with self.lock:
            self.members[at] = member
            self._lags = True
            self._write_if_due()

    def settle(self, *, at_end: bool = False) -> None:
        """Write the record where it lags behind: if that is due, or in any case."""
        with self.lock:
            if at_end and self._lags:
                self._write()
            elif self._lags:
                self._write_if_due()

    def _write_if_due(self) -> None:
        if self._took_s < _QUICK_S or self.clock() - self._written_at >= self._took_s / _SHARE:
            self._write()

    def _write(self) -> None:
        began = self.clock()
        self.record(self.members)
        self._written_at = self.clock()
        self._took_s, self._lags = self._written_at - began, False


def carry_out(
    board: SweepMembers,
    groups: Mapping[int, SweepGroup],
    *,
    jobs: int,
    cores: Sequence[int],
    progress: SweepProgress,
) -> None:
    """Run members.

    Args:
        board: All members.
        groups: Place among the members → its group, of those that are to run.
        jobs: How many at one time.
        cores: Core numbers, of which each running member that is pinned gets one; empty for no pinning.
        progress: Told how far they are.

    Raises:
        KeyboardInterrupt: All programs have been stopped and their folders closed.
    """
    stop = threading.Event()
    free: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(jobs):
        free.put(number)

    def one(at: int) -> None:
        place = free.get()
        core = cores[place % len(cores)] if cores else None
        attempt = Attempt(number=board.members[at].attempts + 1, core=core, lane=place)
        try:
            run_member(board, at, groups[at], attempt, progress=progress, stop=stop)
        finally:
            free.put(place)

    in_threads(one, groups, workers=jobs, stop=stop)


def run_member(
    board: SweepMembers,
    at: int,
    group: SweepGroup,
    attempt: Attempt,
    *,
    progress: SweepProgress,
    stop: threading.Event,
    why_stop: WhyStop | None = None,
) -> None:
    """Run one member; nothing where ``stop`` is set already.

    Args:
        board: All members.
        at: Its place among them.
        group: Its recipe with its settings, made ready.
        attempt: What its run is called, where it runs, and what it says of itself.
        progress: Told how far it is.
        stop: Stops it as Ctrl-C does.
        why_stop: As of ``Engine``.

    Raises:
        KeyboardInterrupt: It was stopped and its folder closed.
    """
    member = board.members[at]
    if group.ready is None or stop.is_set():
        return
    core = attempt.core if group.is_pinned else None
    plan = attempt.of(
        group.plan(
            member.seed,
            core=core,
            stamped=attempt.stamped,
            point=attempt.point,
            place=attempt.lane,
        )
    )
    runs_dir = group.ready.environment.runs_dir
    folder = runs_dir / member.recipe / plan.specs[0].run_id
    place = group.ready.backend.name + ("" if core is None else f" core {core}")
    member = replace(
        member, state=MemberState.RUNNING, run=key_of(folder), message="", attempts=attempt.number
    )
    board.change(at, member)
    shown = MemberProgress(member=member, folder=folder, place=place, progress=progress, recipe=group.recipe)
    try:
        shown.alive("", "")
        Engine(
            backend=group.ready.backend,
            runs_dir=runs_dir,
            host=group.host,
            progress=shown,
            stop=stop,
            why_stop=why_stop,
            before_close=_before_close(folder, member.seed, group, attempt),
            on_closed=group.ready.on_closed,
        ).make(plan)
        stored = runs.read(folder)
        member = replace(member, state=state_of(stored), message=stored.incomplete_because)
    except CannotRunError as error:  # the disk is full, say: a row of its own, as a crash is
        member = replace(member, state=MemberState.CRASHED, message=error.told())
        shown.note(error.told())
    except KeyboardInterrupt:
        board.change(at, replace(member, state=MemberState.INTERRUPTED, message="interrupted by the user"))
        raise
    member = replace(member, last_return=last_return(folder, group.recipe))
    board.change(at, member)
    shown.finished(member)


def _before_close(folder: Path, seed: int, group: SweepGroup, attempt: Attempt) -> BeforeClose:
    """How an attempt is closed that completed: joined with the one before it, compared with all of them."""
    if attempt.number == 1 or group.inputs is None:
        return as_it_ended
    held = (
        as_it_ended
        if group.may_differ
        else unless_attempts_differ(folder, seed, group.inputs, program=group.recipe.program)
    )
    if attempt.point is None:
        return held

    def joined_and_held(folder: Path, result: RunResult) -> RunResult:
        joined = join_with_earlier(folder, result)
        return held(folder, joined) if joined.completed else joined

    return joined_and_held


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a run: how it is numbered and called, where it runs, what its ``run.json`` says besides.

    Attributes:
        number: 1 for the first.
        stamped: What begins its run id; "" for the time and four random digits.
        facts: Further keys of ``run.json``.
        point: The checkpoint of an earlier attempt that it continues from; None where it begins again.
        core: The core that a member which is pinned gets; None for all.
        lane: Its place among those that run side by side, from 0: which of the GPUs it gets.
    """

    number: int = 1
    stamped: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    point: ResumePoint | None = None
    core: int | None = None
    lane: int = 0

    def of(self, plan: RunPlan) -> RunPlan:
        """A plan of one run, as the plan of this attempt."""
        specs = tuple(replace(spec, attempt=self.number) for spec in plan.specs)
        return replace(plan, specs=specs, facts={**plan.facts, **self.facts})


@dataclass(slots=True, kw_only=True)
class MemberProgress:
    """What an engine tells of one run, reported as of a member of a sweep."""

    member: SweepMember
    folder: Path
    place: str
    progress: SweepProgress
    recipe: Recipe
    step: int | None = None
    total: int | None = None
    steps_per_s: float | None = None
    last: float | None = None

    def phase(self, name: str) -> None:
        """A run alone has no phases."""

    def update(
        self,
        run_label: str,  # noqa: ARG002  the member's own says more
        step: int,
        total: int | None,
        *,
        steps_per_s: float | None,
        eta_s: float | None,  # noqa: ARG002
    ) -> None:
        self.step, self.total, self.steps_per_s = step, total, steps_per_s
        self._tell()

    def alive(self, run_label: str, seen: str, *, expected_s: float | None = None) -> None:  # noqa: ARG002
        self._tell(told=seen)

    def ended(self, run_label: str) -> None:
        """A member is one run, and ``finished`` says how it ended."""

    def note(self, text: str) -> None:
        self.progress.note(f"{self.member.label}: {text.removeprefix(f'seed {self.member.seed}: ')}")

    def waits(self, why: str) -> None:
        """It was handed to an engine, and no machine has begun it."""
        self._tell(phase=str(MemberState.WAITING), told=why)

    def finished(self, member: SweepMember) -> None:
        self.last = member.last_return[1] if member.last_return else None
        self._tell(phase=str(member.state))

    def _tell(self, *, phase: str = "training", told: str = "") -> None:
        if phase == "training":
            found = chosen_return(last_object(self.folder / OUTPUT / METRICS) or {}, self.recipe)
            self.last = found[1] if found else self.last  # not every line has one
        how_far = HowFar(
            phase=phase,
            step=self.step,
            total=self.total,
            steps_per_s=self.steps_per_s,
            last_return=self.last,
            place=self.place,
            told=told,
        )
        self.progress.member(self.member.label, how_far)
