"""Whether an unmodified program computes the same on other CPUs: run to its end, natively and emulated.

Its updates are not known, so it cannot be stopped after the first ones. The emulator does not follow what a
program starts: one that starts others computes natively in them, and is not judged.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reprokit import golden
from reprokit.core.sampling.seed_rule import Response
from reprokit.core.verdicts.agreement import takes_seed
from reprokit.core.verdicts.rows import counted
from reprokit.errors import CannotJudgeError
from reprokit.features.numerics.cpu_answer import CpuAnswer, CpuVerdict, another_platform, metrics_difference
from reprokit.harness.judging.seed_response import LARGEST_SEED, NOTHING, recorded_in, responses, third_seed
from reprokit.harness.running.first_updates import FirstUpdatesRunner, PartialRun, need
from reprokit.harness.running.varying.emulation import EmulatedCpu, emulable, look_at
from reprokit.project import Project
from reprokit.recipes import Recipe

#: How long a program may take under the emulator, where no one says: it is 10 to 50 times as slow.
TIMEOUT_S = 900.0
_STARTS = re.compile(rb"^\d+ (?:execve|execveat|vfork)\(|CLONE_VFORK", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramJudge:
    """What is compared on every CPU.

    Attributes:
        recipe: A recipe of a command.
        seed: The seed.
        platform: Whose golden is compared with.
        project: Where goldens are.
        bench: Where the runs are made.
    """

    recipe: Recipe
    seed: int
    platform: str
    project: Project
    bench: FirstUpdatesRunner

    def answers(self, cpus: Sequence[str]) -> list[CpuAnswer]:
        """The native answer, then one a CPU.

        Raises:
            CannotRunError: The native run does not come to its end.
            CannotJudgeError: Its first word is no program that can be emulated, it leaves no metrics, or it
                does not repeat itself natively.
        """
        words = emulable(self.bench.spec.command)
        self.bench.progress.phase(f"{self.recipe.name}, seed {self.seed}: natively")
        native = need(self.bench.whole("native", words), "the native run did not finish")
        expected, against = self._reference(native, words)
        first = metrics_difference(expected, native.canonical)
        natively = self._answer("native", native, first, against=against)
        if first is not None:
            remedy = f"`reprokit reproduce {self.recipe.name}` says whether code or environment is to blame"
            natively = replace(natively, verdict=CpuVerdict.DIFFERS_NATIVELY, remedy=remedy)
            expected, against = native.canonical, "the native run"
        silent = self._why_silent(native, words, is_golden=against == "the golden")
        answers = [natively, *(self._on(name, words, expected, against) for name in cpus)]
        return [_unless_silent(answer, silent) for answer in answers]

    def _why_silent(self, native: PartialRun, words: Sequence[str], *, is_golden: bool) -> str:
        """Why no metric is known to respond to the seed; "" where one does, or the recipe says why none.

        A program that computes nothing has the same metrics on every CPU. What a golden has recorded is of
        its own numbers (``is_golden``: they are the native run's); else one native run more shows it.
        """
        data = self.recipe.as_data()
        if data.get("unresponsive") or (is_golden and recorded_in(self._golden)):
            return ""
        if not takes_seed(data):
            return f"{NOTHING}: its command has no {{seed}}"
        files, found = {self.seed: native.canonical}, set[Response]()
        second = (self.seed + 1) % LARGEST_SEED
        for name, other in (("another-seed", second), ("third-seed", third_seed(self.seed, second))):
            left = self.bench.whole(name, words, seed=other)
            if left.trouble:
                return f"{NOTHING}: with seed {other} it does not finish"
            files[other] = left.canonical
            found = set(responses(files).values())
            if Response.OPEN not in found or Response.YES in found:
                break
        if Response.YES in found:
            return ""
        return f"no metric responds to the seed: seed {other} gives the metrics of seed {self.seed}"

    @property
    def _golden(self) -> Path:
        return golden.locate(
            self.project.golden_dir, recipe=self.recipe.name, platform=self.platform, seed=self.seed
        )

    def _reference(self, native: PartialRun, words: Sequence[str]) -> tuple[Path, str]:
        """The golden's metrics; where there is none, a second native run, which shows that it repeats."""
        if self._golden.is_dir() and not self.recipe.modified:
            blessed = golden.load(self._golden)
            if not blessed.is_foreign:  # no one's CPU is to blame for someone's log
                return blessed.metrics, "the golden"
        again = need(self.bench.whole("native-again", words), "the second native run did not finish")
        if metrics_difference(native.canonical, again.canonical) is not None:
            raise CannotJudgeError(
                "two native runs differ already, so no CPU can be blamed",
                where=str(self.bench.folder),
                fix=f"`reprokit diagnose {self.recipe.name}` says why",
            )
        return again.canonical, "the native run"

    def _on(self, name: str, words: Sequence[str], expected: Path, against: str) -> CpuAnswer:
        self.bench.progress.phase(f"the same on {name}")
        cpu = look_at(name, emulator=self.bench.emulator, python=sys.executable)
        if not cpu.avx2:
            answer = self._answer(cpu.told, None, None, against=against)
            return another_platform(answer, cpu)
        left = self.bench.whole(name, words, cpu=cpu)
        if left.trouble:
            return self._not_finished(cpu, left, against)
        starts = _starts_others(left)
        if starts:
            answer = self._answer(cpu.told, left, None, against=against)
            return replace(answer, verdict=CpuVerdict.UNJUDGED, sentence=starts)
        first = metrics_difference(expected, left.canonical)
        answer = self._answer(cpu.told, left, first, against=against)
        if first is None:
            return answer
        remedy = "keep `numerics: native`: its numbers hold on one kind of CPU"
        return replace(answer, verdict=CpuVerdict.NOT_PORTABLE, remedy=remedy)

    def _not_finished(self, cpu: EmulatedCpu, left: PartialRun, against: str) -> CpuAnswer:
        answer = self._answer(cpu.told, left, None, against=against)
        if left.overdue:
            limit_s = self.bench.spec.limits.timeout_s or 0
            sentence = f"did not end within {limit_s:.0f} s under the emulator"
            remedy = "--timeout gives it more; a recipe of a smaller training takes less"
            return replace(answer, verdict=CpuVerdict.UNJUDGED, sentence=sentence, remedy=remedy)
        return replace(answer, verdict=CpuVerdict.NOT_RUN, sentence=f"did not finish: {left.trouble}")

    def _answer(
        self, cpu: str, left: PartialRun | None, first: dict[str, Any] | None, *, against: str
    ) -> CpuAnswer:
        records = len(left.canonical.read_bytes().splitlines()) if left and left.canonical.is_file() else 0
        equal = f"all {counted(records, 'record')} are {against}'s, bit for bit"
        at = f"step {first['step']}, {first['what']}" if first else ""
        return CpuAnswer(
            recipe=self.recipe.name,
            seed=self.seed,
            cpu=cpu,
            verdict=CpuVerdict.REPRODUCED,
            sentence=f"differs from {against} from {at} on" if first else equal,
            against=against,
            folder=left.folder if left else None,
            first=first,
        )


def _unless_silent(answer: CpuAnswer, silent: str) -> CpuAnswer:
    """The answer; equal numbers that need not depend on anything computed are no evidence."""
    if not silent or answer.verdict is not CpuVerdict.REPRODUCED:
        return answer
    remedy = "say why in recipe.yaml (`unresponsive: {because: …}`) if that is meant"
    return replace(
        answer,
        verdict=CpuVerdict.UNJUDGED,
        sentence=f"{answer.sentence}, which proves nothing: {silent}",
        remedy=remedy,
    )


def _starts_others(left: PartialRun) -> str:
    """Why nothing is known of what was computed where; "" where the one program did everything."""
    calls = left.system_calls
    try:
        log = calls.read_bytes()
    except OSError:
        log = b""
    calls.unlink(missing_ok=True)
    if not log.strip():
        return "the emulator did not say which programs were started"
    if _STARTS.search(log):
        return "it starts other programs, which the emulator does not follow: they compute natively"
    return ""
