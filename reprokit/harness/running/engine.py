"""The engine: a plan in, run folders out, programs run side by side or in turn."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reprokit import capture, file_tree, runs
from reprokit.core.records import OtherTree, Outcome, RunResult, RunSpec, to_json
from reprokit.errors import WorkspaceError
from reprokit.execution import Backend
from reprokit.execution.other_files import CHANGED, LEFT
from reprokit.execution.outcome import Explanation, StopRunError
from reprokit.harness.running.environments.shared_places import SharedPlaces
from reprokit.harness.running.how_far import EarlierRun, earlier_run, tell_of
from reprokit.harness.running.plan import RunPlan
from reprokit.harness.running.programs.tree_changes import Tree, work_tree_of
from reprokit.harness.running.run_end import (
    unless_cut_short,
    unless_data_changed,
    unless_environment_changed,
    unless_package_changed,
    why_not_to_be_watched,
    with_output,
    with_what_was_watched,
)
from reprokit.harness.running.threads_of_runs import StartsApart, in_threads
from reprokit.records import environment_json
from reprokit.session import Progress

if TYPE_CHECKING:
    from reprokit.core.environment_record import EnvironmentRecord, InsideFacts, MachineFacts
    from reprokit.harness.running.watch_golden import FindGolden, GoldenWatch

#: From a run's folder to why the run is to be stopped; None where it continues.
WhyStop = Callable[[Path], Explanation | None]
#: From a run's folder and how it ended, before it is closed, to how it is closed.
BeforeClose = Callable[[Path, RunResult], RunResult]
#: Told the folder of a run as soon as it is made, before its program starts.
OnBegun = Callable[[Path], None]
#: Told the folder of a run as soon as it is closed.
OnClosed = Callable[[Path], None]
_WORTH_A_LINE_BYTES = 4 << 30  # takes several seconds to be read


def as_it_ended(_folder: Path, result: RunResult) -> RunResult:
    """The ``BeforeClose`` that changes nothing."""
    return result


def not_told(_folder: Path) -> None:
    """The ``OnClosed`` of no one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Makes runs on this host: folders made, programs run side by side or in turn, folders closed.

    Attributes:
        backend: How a run is carried out.
        runs_dir: Where the run folders go.
        golden_dir: Where the goldens are that the runs may be compared with; None for none.
        host: What ``capture.capture_host`` found; merged into every environment record.
        progress: Told about twice a second how far the runs are.
        stop: Stops them as Ctrl-C does, once it is set: of a caller that is not in the main thread.
        why_stop: Looks into the folder of a run about twice a second; why it is to be stopped, or None.
        apart_s: How far apart runs side by side begin, seconds.
        before_close: Asked of each run that completed, with its metrics written; its answer counts.
        on_begun: Told of each run once its folder is there.
        on_closed: Told of each run as soon as it is closed, while others may go on.
    """

    backend: Backend
    runs_dir: Path
    host: MachineFacts
    progress: Progress
    golden_dir: Path | None = None
    stop: threading.Event | None = None
    why_stop: WhyStop | None = None
    apart_s: float = 0.0
    before_close: BeforeClose = as_it_ended
    on_begun: OnBegun = not_told
    on_closed: OnClosed = not_told

    def make(
        self, plan: RunPlan, *, side_by_side: int = 1, find_golden: FindGolden | None = None
    ) -> tuple[Path, ...]:
        """Run every specification of a plan and close its folder.

        Args:
            plan: What to run.
            side_by_side: How many runs at one time.
            find_golden: Finds the golden at whose first difference all runs are stopped; None for none.

        Returns:
            The run folders, in the plan's order. A run that failed has its folder too. Without
            ``side_by_side`` the runs after a failed one are not started.

        Raises:
            KeyboardInterrupt: All programs have been stopped and their folders closed.
        """
        made: list[Path] = []
        plan = with_shared_places(plan, runs_dir=self.runs_dir)
        watch = None
        if find_golden is not None:
            from reprokit.harness.running.watch_golden import GoldenWatch

            ids = [spec.run_id for spec in plan.specs]
            watch = GoldenWatch(ids, find=find_golden, note=self.progress.note)
        stop = self.stop or threading.Event()
        starts = StartsApart(self.apart_s if side_by_side > 1 else 0.0, stop=stop)
        one = partial(self._run, plan=plan, made=made, watch=watch, stop=stop, starts=starts)
        with watch or nullcontext():
            if side_by_side <= 1:
                for spec in plan.specs:
                    if not one(spec).completed:
                        break
            else:
                in_threads(one, plan.specs, workers=side_by_side, stop=stop)
        order = {spec.run_id: index for index, spec in enumerate(plan.specs)}
        return tuple(sorted(made, key=lambda folder: order[folder.name]))

    def _run(
        self,
        spec: RunSpec,
        *,
        plan: RunPlan,
        made: list[Path],
        watch: GoldenWatch | None,
        stop: threading.Event,
        starts: StartsApart,
    ) -> RunResult:
        folder = runs.create(self.runs_dir, spec, facts=plan.facts, files=plan.files)
        made.append(folder)
        for name in plan.executables:
            (folder / name).chmod(0o755)
        this = _Underway(
            engine=self,
            plan=plan,
            spec=spec,
            folder=folder,
            watch=watch,
            stop=stop,
            earlier=earlier_run(folder),
        )
        secrets = capture.secret_values(os.environ, command=spec.command)
        try:
            if plan.program is not None:
                from reprokit.harness.running.programs import instrumented, program_output

                program_output.make_working_copy(folder, plan.program)
                instrumented.make_trace_folder(spec, folder)
            self.on_begun(folder)
            starts.wait()
            began = time.time()
            kept = [self.runs_dir, *([self.golden_dir] if self.golden_dir else ())]
            others = spec.other_tree or OtherTree.of_runs(*kept)
            if plan.shared is not None:
                others = replace(others, left=plan.shared.left(), left_since=plan.shared.since())
            watched = replace(spec, confined=_is_confined(spec, plan), other_tree=others)
            result = self.backend.run(watched, folder, on_tick=this.tick)
            if why := why_not_to_be_watched(result, spec):
                self.progress.note(f"{this.label}: started again, not watched: {why}")
                file_tree.remove(folder)
                made.remove(folder)
                spec = replace(spec, other_tree=replace(others, unwatched=why))
                return self._run(spec, plan=plan, made=made, watch=watch, stop=stop, starts=starts)
            result, found = this.looked_through(result, began=began)
        except KeyboardInterrupt:
            runs.close_interrupted(folder, secrets=secrets)
            raise
        result = this.closed(result, found, secrets=secrets)
        self.on_closed(folder)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Underway:
    """A run from its folder to its end."""

    engine: Engine
    plan: RunPlan
    spec: RunSpec
    folder: Path
    watch: GoldenWatch | None
    stop: threading.Event
    earlier: EarlierRun

    @property
    def label(self) -> str:
        """Which of the plan's runs it is; by its seed where it is alone, as one with another seed is."""
        alone = len(self.plan.specs) == 1
        return f"seed {self.spec.seed}" if alone else f"run {self.spec.run_id.rsplit('-', 1)[-1]}"

    def tick(self) -> None:
        """Tell how far it is; stop it where something asks for that."""
        if self.stop.is_set():
            raise KeyboardInterrupt
        tell_of(self.engine.progress, self.label, self.folder, earlier=self.earlier)
        why = self._seen_by_watch()
        why = why or (self.engine.why_stop(self.folder) if self.engine.why_stop else None)
        if why is not None:
            raise StopRunError(why)

    def looked_through(self, result: RunResult, *, began: float) -> tuple[RunResult, dict[str, Any]]:
        """How it ended, by what it left and whether what it stood on is as it was; and further keys."""
        spec, folder, plan = self.spec, self.folder, self.plan
        self._seen_by_watch()  # what came after the last tick
        result = unless_data_changed(result, plan.fetched)
        result = unless_package_changed(result, spec, recorded=plan.facts.get("mounted_digest"))
        result = unless_environment_changed(result, spec, installed=plan.facts.get("installed"))
        result = unless_cut_short(result, _inside(spec, folder, {}, plan=plan))
        result, found = with_output(with_what_was_watched(result, spec, folder), folder, plan)
        result = self.engine.before_close(folder, result) if result.completed else result
        found = {**found, **_shared(result, spec, plan, began=began)}
        told = {
            name: value for name, value in (result.other_tree or {}).items() if name not in {LEFT, CHANGED}
        }
        return replace(result, other_tree=told if result.other_tree is not None else None), found

    def closed(self, result: RunResult, found: Mapping[str, Any], *, secrets: Sequence[str]) -> RunResult:
        """Write the records of its end."""
        progress = self.engine.progress
        result = replace(result, message=capture.without(result.message, secrets))
        tell_of(progress, self.label, self.folder, earlier=self.earlier)
        if not result.completed:
            progress.note(f"{self.label}: {result.message}")
        try:
            record = _environment(self.spec, self.folder, result, self.engine.host, plan=self.plan)
            _tell_of_size(self.label, self.folder, progress=progress)
            runs.finish(self.folder, result, environment=record, secrets=secrets, facts=found)
        except WorkspaceError as error:
            outcome = Outcome(error.outcome)
            result = replace(result, outcome=outcome, message=error.told(), remedy=error.fix or "")
            runs.close_unfinished(self.folder, result)
            progress.note(f"{self.label}: {result.message}")
        return result

    def _seen_by_watch(self) -> Explanation | None:
        if self.watch is None:
            return None
        return self.watch.look(self.spec.run_id, self.folder, environment=self._environment)

    def _environment(self) -> EnvironmentRecord:
        host = self.engine.host

        inside = _inside(self.spec, self.folder, host, plan=self.plan)
        return environment_json.or_empty({"inside": inside, "host": host})


def with_shared_places(
    plan: RunPlan, *, runs_dir: Path, project: Path | None = None, reports_dir: Path | None = None
) -> RunPlan:
    """The plan, with what its runs share looked at; a part of a larger plan keeps that of the whole.

    Args:
        plan: The runs.
        runs_dir: Where their folders are; it is left out.
        project: The folder that a recipe's program was copied from, where runs can write to it.
        reports_dir: Of a plain command, whose tree is compared without what lies there.
    """
    if plan.shared is not None or len(plan.specs) < 2:  # one alone leaves nothing to another
        return plan
    projects = () if project is None else (project,)
    reports_dirs = () if reports_dir is None else (reports_dir,)
    shared = shared_places(plan.specs, runs_dirs=(runs_dir,), projects=projects, reports_dirs=reports_dirs)
    return replace(plan, shared=shared)


def shared_places(
    specs: Sequence[RunSpec],
    *,
    runs_dirs: Sequence[Path],
    projects: Sequence[Path] = (),
    reports_dirs: Sequence[Path] = (),
) -> SharedPlaces:
    """What is looked at for what some runs leave for others; arguments as above, of all of them."""
    from reprokit.images.cache import cache_folder

    git = [project / ".git" for project in projects]  # the tool itself writes and reads there
    leave_out = (*runs_dirs, cache_folder(None), *git)
    first = specs[0]
    is_plain = first.inherit_environment and first.working_dir is not None
    repository = work_tree_of(Path(str(first.working_dir))) if is_plain else None
    repositories = projects if not is_plain else [one for one in (repository,) if one is not None]
    # of a recipe nothing else says what changed in the tree
    kept = frozenset(str(one.resolve()) for one in (*runs_dirs, *reports_dirs))
    tree = Tree(roots=(repository,), kept=kept) if repository is not None and not projects else None
    return SharedPlaces(specs, leave_out=leave_out, projects=projects, repositories=repositories, tree=tree)


def _shared(result: RunResult, spec: RunSpec, plan: RunPlan, *, began: float) -> dict[str, Any]:
    """What ``run.json`` says of what the run left for others; containers share nothing."""
    if plan.shared is None or result.isolation.get("backend") != "local":
        return {}
    is_confined = bool(result.isolation.get("confined"))
    found = result.other_tree or {}
    opened = found.get(LEFT)
    return plan.shared.after(
        spec,
        began=began,
        ended=time.time(),
        is_confined=is_confined,
        opened=None if opened is None else frozenset(opened),
        changed=found.get(CHANGED, ()),
    )


def _is_confined(spec: RunSpec, plan: RunPlan) -> bool:
    """Whether a program may write to its own folders only: in a pinned environment, under natural conditions.

    A variation changes folders too; the libraries of accelerators write where no variable leads them.
    """
    return (
        spec.realisation is not None and spec.device == "cpu" and not {"varied", "stressed"} & set(plan.facts)
    )


def _tell_of_size(label: str, folder: Path, *, progress: Progress) -> None:
    num_bytes = sum(one.num_bytes for one in file_tree.walk(folder))
    if num_bytes > _WORTH_A_LINE_BYTES:
        progress.note(f"{label}: computing the digests of {num_bytes / (1 << 30):,.1f} GiB of files")


def _environment(
    spec: RunSpec, folder: Path, result: RunResult, host: MachineFacts, *, plan: RunPlan
) -> EnvironmentRecord:
    return capture.merge(
        _inside(spec, folder, host, plan=plan),
        host,
        source=host.get("source") or {},
        image=to_json(spec.realisation) if spec.realisation else None,
        limits={**to_json(spec.limits), "isolation": dict(result.isolation)},
    )


def _inside(spec: RunSpec, folder: Path, host: MachineFacts, *, plan: RunPlan) -> InsideFacts:
    """What is known from inside: what the run says, of a command what the host says."""
    told = spec.realisation is not None and plan.program is None  # a command's files are no evidence
    said = cast("InsideFacts", runs.inside_facts(folder)) if told else None
    return said or host.get("plain_inside") or {}
