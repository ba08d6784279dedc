"""Whether a recipe's golden holds on other CPUs: its first updates, natively and on emulated ones.

They are compared with the golden, whose trace keeps the first eight updates; without one, with the native
run, which is made in any case: what differs natively too is not the emulated CPU's doing.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import capture, golden, recipes
from reprokit.core import fingerprint
from reprokit.core.fingerprint import PORTABLE
from reprokit.errors import CannotJudgeError, ReprokitError, UsageError
from reprokit.features.numerics import nonportable_ops
from reprokit.features.numerics.cpu_answer import (
    CpuAnswer,
    CpuVerdict,
    Measure,
    another_platform,
    first_difference,
    head,
    where,
)
from reprokit.features.numerics.whole_program import TIMEOUT_S, ProgramJudge
from reprokit.harness.judging.differences.trace_comparison import count_records
from reprokit.harness.running.clock import stamp
from reprokit.harness.running.first_updates import FirstUpdatesRunner, PartialRun, need, side_by_side
from reprokit.harness.running.seeds import recorded_seeds
from reprokit.harness.running.start_runs import prepare, with_numpys_own_names
from reprokit.harness.running.varying import emulation
from reprokit.harness.running.varying.emulation import EmulatedCpu
from reprokit.layout import METRICS, TRACE
from reprokit.project import Project
from reprokit.recipes import Recipe
from reprokit.request import Request
from reprokit.session import Progress, Session

NATIVE = "native"
FEWEST_UPDATES = 3
#: What the head of a golden's trace holds.
MOST_UPDATES = 8

_TIMEOUT_S = 3600.0

_WITHOUT_ANSWER = {2: CpuVerdict.UNUSABLE, 3: CpuVerdict.NOT_RUN}


def verify_cpus(
    request: Request,
    *,
    cpus: Sequence[str],
    session: Session,
    names: Sequence[str] = (),
    updates: int = FEWEST_UPDATES,
) -> list[CpuAnswer]:
    """Compare the first updates of every recipe of this platform, or of those named, with its golden.

    For each recipe and seed (without one, every seed that has a golden) the native answer comes first, then
    one a CPU. ``updates`` are 3 to 8: below 3 not every kind of operation of a training has run.

    Raises:
        UsageError: A CPU that no one knows, or too few updates.
        CannotRunError: There is no emulator; in a container, none without libraries of its own.
    """
    emulator = _checked(request, cpus=cpus, updates=updates)
    platform = fingerprint.platform_of_host(capture.capture_host(session.project.root))
    answers: list[CpuAnswer] = []
    for name in names or recipes.list_names(session.project.recipes_dir):
        try:
            recipe = recipes.load(name, recipes_dir=session.project.recipes_dir, overrides=request.overrides)
            if not names and platform not in recipe.platforms:
                session.progress.note(f"{name} does not declare {platform}: not judged here")
                continue
            judge = _Judge(
                recipe=recipe,
                platform=platform,
                cpus=tuple(cpus),
                updates=updates,
                emulator=emulator,
                request=request,
                project=session.project,
                progress=session.progress,
            )
            for seed in _seeds(recipe, request, session.project, platform):
                answers += judge.answers(seed)
        except ReprokitError as error:
            verdict = _WITHOUT_ANSWER.get(error.exit_code, CpuVerdict.UNJUDGED)
            answers.append(CpuAnswer(recipe=name, cpu="all", verdict=verdict, sentence=str(error)))
    return answers


def _seeds(recipe: Recipe, request: Request, project: Project, platform: str) -> Sequence[int]:
    """The seed requested, else all that have a golden, else the recipe's first: emulated runs take long."""
    if request.seed is not None:
        return (request.seed,)
    return recorded_seeds(recipe, project, platform) or (recipe.seeds[0],)


def _checked(request: Request, *, cpus: Sequence[str], updates: int) -> str:
    """Path of the emulator, when everything that is asked for can be done."""
    if not FEWEST_UPDATES <= updates <= MOST_UPDATES:
        expected = f"{FEWEST_UPDATES} to {MOST_UPDATES}, which every golden's trace holds"
        raise UsageError("this number of updates cannot be compared", expected=expected, actual=str(updates))
    emulator = emulation.find_emulator(in_container=request.backend == "docker")
    emulation.check_names(cpus, emulator=emulator)
    return emulator


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    recipe: Recipe
    platform: str
    cpus: tuple[str, ...]
    updates: int
    emulator: str
    request: Request
    project: Project
    progress: Progress

    def answers(self, seed: int) -> list[CpuAnswer]:
        if self.recipe.program is not None and self.recipe.device == "cpu":
            return self._of_program(seed)
        if self.recipe.numerics != PORTABLE or self.recipe.device != "cpu":
            raise CannotJudgeError(
                f"{self.recipe.name} promises nothing on other CPUs",
                expected=f"numerics: {PORTABLE} and device: cpu",
                actual=f"numerics: {self.recipe.numerics} and device: {self.recipe.device}",
            )
        bench = self._bench(seed)
        self.progress.phase(f"{self.recipe.name}, seed {seed}: {self.updates} updates natively")
        native = need(bench.train(NATIVE), "the native run did not finish its first updates")
        if not count_records(native.trace):
            raise CannotJudgeError(
                "the training traced no update, so there is nothing to compare", where=str(native.trace)
            )
        measure, blessed = self._measure(seed, native, folder=bench.folder / "expected")
        first = first_difference(measure, native) if blessed else None
        natively = self._native_answer(seed, measure, native, first, blessed=blessed)
        self.progress.phase(f"the same on {', '.join(self.cpus)}")

        def one(name: str) -> tuple[EmulatedCpu, PartialRun | None]:
            cpu = bench.look_at(name)
            return cpu, bench.train(name, cpu=cpu) if cpu.avx2 else None

        made = side_by_side(one, self.cpus, stop=bench.stop)
        held = [self._held(seed, cpu, left, measure, native, natively) for cpu, left in made]
        if any(answer.verdict is CpuVerdict.NOT_PORTABLE for answer in held):
            held = self._with_the_guilty(held, [cpu for cpu, _ in made], bench)
        return [natively, *held]

    def _of_program(self, seed: int) -> list[CpuAnswer]:
        judge = ProgramJudge(
            recipe=self.recipe,
            seed=seed,
            platform=self.platform,
            project=self.project,
            bench=self._bench(seed, timeout_s=TIMEOUT_S),
        )
        return judge.answers(self.cpus)

    def _bench(self, seed: int, *, timeout_s: float = _TIMEOUT_S) -> FirstUpdatesRunner:
        asked = replace(
            self.request,
            seed=seed,
            backend="docker" if self.request.backend == "docker" else "local",
            timeout_s=self.request.timeout_s or timeout_s,
        )
        ready = prepare(self.recipe, asked, session=Session(project=self.project, progress=self.progress))
        folder = self.project.reports_dir / self.recipe.name / f"{stamp()}-cpus"
        return FirstUpdatesRunner(
            plan=with_numpys_own_names(ready, self.recipe).plan,
            folder=folder,
            updates=self.updates,
            emulator=self.emulator,
            progress=self.progress,
            stop=threading.Event(),
            backend=ready.backend,
        )

    def _measure(self, seed: int, native: PartialRun, *, folder: Path) -> tuple[Measure, bool]:
        """The golden's first updates, cut out of it; or the native run where there is none."""
        path = golden.locate(
            self.project.golden_dir, recipe=self.recipe.name, platform=self.platform, seed=seed
        )
        blessed = golden.load(path) if path.is_dir() else None
        if blessed is None or blessed.is_foreign or self.recipe.modified:
            why = "its settings were changed" if self.recipe.modified else f"no golden for seed {seed} here"
            self.progress.note(f"{self.recipe.name}: {why}, so the native run is the reference")
            return Measure(trace=native.trace, metrics=native.metrics, name="the native run"), False
        folder.mkdir(parents=True)
        trace, metrics = folder / TRACE, folder / METRICS
        if blessed.trace is None:
            raise CannotJudgeError("the golden holds no trace", where=str(path))
        trace.write_bytes(head(blessed.trace, lines=count_records(native.trace)))
        metrics.write_bytes(head(blessed.metrics, lines=count_records(native.metrics)))
        return Measure(trace=trace, metrics=metrics, name="the golden"), True

    def _native_answer(
        self, seed: int, measure: Measure, native: PartialRun, first: dict[str, Any] | None, *, blessed: bool
    ) -> CpuAnswer:
        updates = count_records(native.trace)
        answer = CpuAnswer(
            recipe=self.recipe.name,
            seed=seed,
            cpu=NATIVE,
            verdict=CpuVerdict.REPRODUCED,
            sentence=f"the first {updates} updates are {measure.name}'s, bit for bit",
            against=measure.name,
            updates=updates,
            folder=native.folder,
            first=first,
        )
        if not blessed:
            return replace(
                answer,
                sentence=f"{updates} updates: the reference for the other CPUs: there is no golden",
            )
        if first is None:
            return answer
        return replace(
            answer,
            verdict=CpuVerdict.DIFFERS_NATIVELY,
            sentence=f"differs from the golden from {where(first)} on, with no other CPU involved",
            remedy=f"`reprokit reproduce {self.recipe.name}` says whether code or environment is to blame",
        )

    def _held(
        self,
        seed: int,
        cpu: EmulatedCpu,
        left: PartialRun | None,
        measure: Measure,
        native: PartialRun,
        natively: CpuAnswer,
    ) -> CpuAnswer:
        answer = CpuAnswer(
            recipe=self.recipe.name,
            seed=seed,
            cpu=cpu.told,
            verdict=CpuVerdict.REPRODUCED,
            sentence=f"the first {natively.updates} updates are {measure.name}'s, bit for bit",
            against=measure.name,
            updates=natively.updates,
            folder=left.folder if left else None,
        )
        if left is None:
            return another_platform(answer, cpu)
        if left.trouble:
            sentence = f"did not finish its first updates: {left.trouble}"
            return replace(answer, verdict=CpuVerdict.NOT_RUN, sentence=sentence)
        first = first_difference(measure, left)
        if first is None:
            return answer
        if natively.first is not None:  # then only what differs from the native run is this CPU's doing
            measure = Measure(trace=native.trace, metrics=native.metrics, name="the native run")
            own = first_difference(measure, left)
            if own is None:
                same = f"differs from the golden just as the native run does, from {where(first)} on"
                return replace(
                    answer,
                    verdict=CpuVerdict.DIFFERS_NATIVELY,
                    first=first,
                    sentence=same,
                    remedy=natively.remedy,
                )
            first = own
        return replace(
            answer,
            verdict=CpuVerdict.NOT_PORTABLE,
            first=first,
            against=measure.name,
            sentence=f"differs from {measure.name} from {where(first)} on",
        )

    def _with_the_guilty(
        self, answers: Sequence[CpuAnswer], cpus: Sequence[EmulatedCpu], bench: FirstUpdatesRunner
    ) -> list[CpuAnswer]:
        self.progress.phase("which operation is it?")
        try:
            calls = nonportable_ops.list_calls(bench, updates=_last_update(answers, self.updates))
        except ReprokitError as error:
            return [_unexplained(answer, error) for answer in answers]

        def one(pair: tuple[CpuAnswer, EmulatedCpu]) -> CpuAnswer:
            answer, cpu = pair
            if answer.verdict is not CpuVerdict.NOT_PORTABLE:
                return answer
            try:
                found = nonportable_ops.find(bench, calls, cpu)
            except ReprokitError as error:
                return _unexplained(answer, error)
            why = nonportable_ops.sentence(found, num_operations=len(calls.counts))
            remedy = found[0].remedy if found else ""
            return replace(answer, guilty=found, sentence=f"{answer.sentence}: {why}", remedy=remedy)

        return side_by_side(one, zip(answers, cpus, strict=True), stop=bench.stop)


def _unexplained(answer: CpuAnswer, error: ReprokitError) -> CpuAnswer:
    if answer.verdict is not CpuVerdict.NOT_PORTABLE:
        return answer
    return replace(answer, sentence=f"{answer.sentence}; which operation it is could not be found: {error}")


def _last_update(answers: Sequence[CpuAnswer], updates: int) -> int:
    """The update in which the last of the CPUs parts: every operation that was called until then counts."""
    numbers = [answer.first["update"] for answer in answers if answer.first]
    return max((number or updates for number in numbers), default=updates)
