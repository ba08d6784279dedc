"""Instrumented runs of one program under chosen conditions: the experiments of ``reprokit diagnose``.

Their folders are no run folders: they stand among the reports, hold no ``run.json`` and never get COMPLETE.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Self

from reprokit import adapters, diagnosis, workspace
from reprokit.core.comparing.difference import Comparison
from reprokit.core.records import Outcome, RunResult, RunSpec
from reprokit.errors import CannotRunError, MetricsError
from reprokit.execution import Backend
from reprokit.harness.diagnosing.conditions import Conditions, InstrumentedRun, limit_of
from reprokit.harness.diagnosing.leftovers import Leftovers
from reprokit.harness.diagnosing.run_orders import hash_seed_of, hooked_spec, orders_of, shown_places
from reprokit.harness.diagnosing.short_runs import Cut, FarEnough
from reprokit.harness.judging.differences.clock_evidence import clock_kinds
from reprokit.harness.running.plan import RunPlan
from reprokit.harness.running.programs import program_output
from reprokit.harness.running.programs.furnish import furnish
from reprokit.harness.running.programs.hooked_run import (
    ORDERS,
    bring_out,
    make_trace_folder,
    places_of,
)
from reprokit.harness.running.start_command import Disturb
from reprokit.harness.running.varying.apply_variations import in_container
from reprokit.layout import METRICS, OUTPUT
from reprokit.session import Progress
from reprokit.workspace import cannot_write


class BudgetSpent(Exception):  # noqa: N818 - not an error
    """The time that all runs together may take is over."""


class InstrumentedProgram:
    """Makes the runs of one program, as a context.

    Args:
        plan: The run; its command may hold the placeholders.
        ignore: Patterns of metrics to leave out.

    Attributes:
        apart: A folder of its own with a short path, for homes and temporary files; removed with it.
        in_source: Puts the paths of a recipe's own files in place of those of their copies in a run.
        deep: Whether operations are recorded even where a line was found.
        outputs: Patterns of output files that count as metrics do.
        draws: Whether every operation of PyTorch is checked for draws from an unseeded generator.
        level: What is recorded where a run does not say otherwise.
        lost: What is not known because the program does not finish with the watch in it; "" where it does.
        vary: Names of the variations to make, whatever they take; None for all but those made seldom.
        budget_s: How long all runs together may take; None for as long as they like.
        bounded: Whether that holds for the runs that come: the first two are made whatever they take.
        labels: What each run was made for.
        ended: The same with the run, of those that came to an end; without their traces.
        about: How many runs it takes in all, as far as that is known; 0 where it is not.
        cut: Where runs may be cut; None where they may not.
        left_out: Metrics of the wall clock that are not compared: name → what they are of it.
        keeps_clocks: Whether these are compared like all others.
        pairs: So many runs are recorded at most until one differs from the others.
        disturb: Disturbs each run; None for runs that are left as they are.
    """

    def __init__(
        self,
        plan: RunPlan,
        *,
        folder: Path,
        backend: Backend,
        progress: Progress,
        budget: int,
        ignore: Sequence[str] = (),
    ) -> None:
        self.folder, self.progress = folder, progress
        self.budget, self.made, self.about = budget, 0, 0
        self._plan, self._backend, self.ignore = plan, backend, tuple(ignore)
        self.spec, self.program = plan.specs[0], plan.program
        self.outputs: Sequence[str] = ()
        self.in_source: Callable[[str], str] = str
        self.draws = self.deep = self.bounded = False
        self.labels: list[str] = []
        self.ended: list[tuple[str, InstrumentedRun]] = []
        self.level, self.lost = "light", ""
        self.vary: tuple[str, ...] | None = None
        self.leftovers = Leftovers(folder / "left-by-another-seed")
        self.left_out: dict[str, str] = {}
        self.cut: Cut | None = None
        self.keeps_clocks = False
        self.pairs = 2
        self.disturb: Disturb | None = None
        self._first_s: float | None = None
        self.budget_s: float | None = None
        self._begun = time.monotonic()

    def __enter__(self) -> Self:
        try:
            (self.folder / "traces").mkdir(parents=True)
            self.apart = workspace.short_folder()
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what runs left among the temporary files."""
        shutil.rmtree(self.apart, ignore_errors=True)

    @property
    def left(self) -> Mapping[str, diagnosis.OutsideFile]:
        """Files outside the runs' folders that runs have written so far, as they were before the first."""
        return self.leftovers.before

    @property
    def spent(self) -> bool:
        return not self.can_make(1)

    def can_make(self, runs: int) -> bool:
        """Whether so many more runs fit the budget."""
        if self.made + runs > self.budget:
            return False
        if self.budget_s is None or self._first_s is None:
            return True
        return time.monotonic() - self._begun + runs * self._first_s <= self.budget_s

    @property
    def time_share(self) -> float:
        """How much of the time that all runs may take is over."""
        return 0.0 if self.budget_s is None else (time.monotonic() - self._begun) / self.budget_s

    def expect(self, more: int) -> None:
        """So many more runs are needed, as far as is known."""
        self.about = min(self.budget, self.made + more)

    def run(self, label: str, given: Conditions | None = None) -> InstrumentedRun:
        """Make one run in the folder ``label``, under natural conditions unless others are given."""
        given = given or Conditions()
        left_s = self._left_s()
        if left_s is not None and left_s <= 0:
            raise BudgetSpent
        self.made += 1
        self.labels.append(label)
        label = f"{self.made:02d}-{label}"
        if given.fresh:
            self.leftovers.restore()
        else:
            self.leftovers.put()
        key, traced = secrets.token_hex(16), self.folder / "traces" / label
        stage = self.folder / given.run_folder
        hash_seed = hash_seed_of(self.spec, given)
        try:
            traced.mkdir()
            furnish(stage, self._plan)
            make_trace_folder(self.spec, stage)
            places = places_of(
                self.spec,
                stage=stage,
                traced=traced,
                apart=self.apart,
                replay=given.like.traced if given.like else None,
            )
            orders = orders_of(given, places, key=key, level=self.level, draws=self.draws)
            workspace.write_json(traced / ORDERS, orders)
            shutil.copyfile(traced / ORDERS, self.folder / ORDERS)
        except OSError as error:
            raise cannot_write(stage, error) from error
        limit_s = self._limit_s(given)
        may_s = limit_s if left_s is None else min(left_s, limit_s or left_s)
        spec = hooked_spec(
            self.spec,
            given,
            places,
            stage=stage,
            stand_ins=self.folder / "python",
            hash_seed=hash_seed,
            limit_s=may_s,
        )
        if self.disturb is not None:
            spec, _ = self.disturb(spec, self.made)
        begun = time.time()
        result = self._until_cut(spec, stage, given)
        ended = time.time()
        if result is not None:
            bring_out(self.spec, stage, traced)
        if self.program is not None and not program_output.collect(stage, self.program):
            program_output.write_metrics(stage, self.program)  # rather none than half of them
        if self._first_s is None:
            self._first_s = ended - begun
        stage.rename(self.folder / label)
        trace = diagnosis.read_trace(traced) if result is not None else diagnosis.HookTrace.empty()
        ran = InstrumentedRun(
            label=label,
            folder=self.folder / label,
            trace=trace,
            traced=traced,
            key=key,
            hash_seed=hash_seed,
            trouble="" if result is None or result.completed else result.message,
            duration_s=ended - begun,
            limit_s=limit_s,
            overdue=result is not None and result.outcome is Outcome.TIMED_OUT,
            places=shown_places(self.spec, given, places.output),
            span=(begun, ended),
            cut=result is None,
        )
        if not in_container(self.spec):  # a container's files go with it
            self.leftovers.note(trace)
        if ran.overdue and may_s != limit_s:
            raise BudgetSpent  # it was stopped because of the budget, which shows nothing of the program
        self.ended.append((self.labels[-1], replace(ran, trace=diagnosis.HookTrace.empty())))
        return ran

    def _left_s(self) -> float | None:
        """How much of the time is left; None where there is no bound, as of the first two runs."""
        if self.budget_s is None or not self.bounded:
            return None
        return self._begun + self.budget_s - time.monotonic()

    def _until_cut(self, spec: RunSpec, stage: Path, given: Conditions) -> RunResult | None:
        """Run to the end, or until it may be cut: None."""
        shown = f"run {self.made}"
        if self.about and self.made <= self.about:
            shown += f" of about {self.about}"
        whole = self.left or in_container(self.spec)
        cut = self.cut if given.short and not whole else None

        def tick() -> None:
            self.progress.alive(shown, "", expected_s=self._first_s)
            if cut is not None:
                cut.check(stage / OUTPUT)

        try:
            return self._backend.run(spec, stage, on_tick=tick)
        except FarEnough as error:
            error.cut.shorten(stage / OUTPUT)
            return None
        finally:
            self.progress.ended(shown)

    def compare(self, first: InstrumentedRun, second: InstrumentedRun) -> Comparison:
        """Whether two runs have the same numbers; a ``MetricsError`` where one has none."""
        ignore = (*self.ignore, *map(escape, self.left_out))
        beginning = self.cut.beginnings.get(first.label) if self.cut is not None and second.cut else None
        if self.program is not None:  # without what is volatile, with what was printed
            pair = (beginning or first.folder) / METRICS, second.folder / METRICS
            return adapters.compare_paths(*pair, ignore=ignore)[0]
        return adapters.compare_runs(
            beginning or first.folder / OUTPUT,
            second.folder / OUTPUT,
            ignore=ignore,
            places=(first.places, second.places),
            output_digests=(self._digests(first), self._digests(second)) if self.outputs else None,
        )

    def _digests(self, run: InstrumentedRun) -> Mapping[str, str]:
        """What the output files of a run hold that count; a ``MetricsError`` where they cannot be read."""
        found = program_output.digests_asked(run.folder, self.outputs)
        if problem := found.get("metrics_problem"):
            raise MetricsError(str(problem["what"]), where=problem.get("where"), fix=problem.get("fix"))
        digests: Mapping[str, str] = found["output_digests"]
        return digests

    def equal(self, first: InstrumentedRun, second: InstrumentedRun) -> bool:
        """Whether two runs have the same numbers; a run that failed equals no other.

        Where they differ in nothing but metrics of the wall clock, these are left out from then on.
        """
        if second.trouble:
            return False
        found = self.compare(first, second)
        if found.within_tolerance or self.keeps_clocks:
            return found.within_tolerance
        kinds = clock_kinds(
            first.folder / OUTPUT, second.folder / OUTPUT, found, spans=(first.span, second.span)
        )
        if not kinds or len(kinds) == len(found.per_metric):
            return False
        self.left_out |= kinds
        return True

    @property
    def hash_is_fixed(self) -> bool:
        return hash_seed_of(self.spec, Conditions()) == hash_seed_of(self.spec, Conditions())

    def _limit_s(self, given: Conditions) -> float | None:
        """How long a run may take: no longer than asked for, and not much longer than the first one did."""
        asked = self.spec.limits.timeout_s
        if self._first_s is None or given.cpu or given.command:
            return asked
        limit_s = limit_of(self._first_s)
        return limit_s if asked is None else min(asked, limit_s)


def need(ran: InstrumentedRun) -> InstrumentedRun:
    """The run itself; a ``CannotRunError`` where it did not finish."""
    if ran.trouble:
        raise CannotRunError(
            f"the program did not finish: {ran.trouble}",
            where=str(ran.folder),
            fix=f"see {ran.folder / 'stderr.log'}",
        )
    return ran
