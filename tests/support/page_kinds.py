"""Every kind of page that the tool writes, with plain names, or with one text in each place for one."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from reprokit.core.checklist import Verdict
from reprokit.core.report_parts import DrawnCurve
from reprokit.core.statistics.windows import Window
from reprokit.features.compare import report as comparison
from reprokit.features.compare.answer import Answer, Side, StoredAnswer, Word
from reprokit.features.learning.curve import Point
from reprokit.features.learning.learned import Learned
from reprokit.features.learning.learning_html import learning_to_html
from reprokit.features.sweeps.runs_over_seeds import SeedGroup, SeedRun
from reprokit.features.sweeps.statistics import describe
from reprokit.features.sweeps.statistics.describe import Curves
from reprokit.features.sweeps.statistics_html import statistics_to_html, sweep_to_html
from reprokit.features.sweeps.stats import GroupStatistics, Statistics
from reprokit.features.tune import studies
from reprokit.features.tune.pages.study_page import study_to_html
from reprokit.features.tune.studies import Trial, TrialState
from reprokit.harness.sweep import Sweep
from reprokit.learning import Answer as Learning
from reprokit.learning import Health
from reprokit.reports.formats.to_html import diagnosis_to_html, to_html
from reprokit.reports.pages.gate_page import GateEntry, gate_to_html
from reprokit.reports.pages.index_page import IndexEntry, index_to_html
from reprokit.runs import sweeps
from support import sample_report as samples
from support import seed_pages
from support.search import definition

_STEPS = np.arange(40.0) * 1000
_TRIALS = 24


def report(text: str, _folder: Path) -> str:
    found = samples.sample_report(Verdict.REGRESSION)
    return to_html(samples.with_text(found, text) if text else found)


def statistical(text: str, _folder: Path) -> str:
    found = seed_pages.gate_report(samples.sample_report(Verdict.UNJUDGED))
    return to_html(samples.with_text(found, text) if text else found)


def verify(text: str, _folder: Path) -> str:
    earlier = [_entry(text or "cartpole", verdict, day) for day, verdict in enumerate(Verdict, start=1)]
    entries = []
    for number, verdict in enumerate((Verdict.REGRESSION, Verdict.REPRODUCED, Verdict.NOT_RUN)):
        found = samples.sample_report(verdict)
        entries.append(
            GateEntry(
                recipe=text or f"recipe-{number}",
                exit_code=found.exit_code,
                report=samples.with_text(found, text) if text else found,
                place=text or "cartpole/T/report.html",
                earlier=tuple(earlier),
            )
        )
    return gate_to_html(entries, exit_code=1)


def index(text: str, _folder: Path) -> str:
    entries = [
        _entry(text or name, verdict.value, day) for day, verdict in enumerate(Verdict, 1) for name in "ab"
    ]
    return index_to_html(
        [*entries, dataclasses.replace(_entry(text or "c", "different", 12), problem=text or "no")]
    )


def _entry(name: str, verdict: str, day: int) -> IndexEntry:
    return IndexEntry(
        recipe=name,
        verdict=verdict,
        created_at=f"2026-11-{day:02}T10:00:00Z",
        place=f"{name}/{day}/report.html",
        sentence=f"2 runs of {name} agree with each other.",
    )


def diagnosis(text: str, _folder: Path) -> str:
    found: Any = (
        samples.hostile_cause(text) if text else samples.sample_report(Verdict.NONDETERMINISTIC).cause
    )
    sentence = text or "first differs at update 3, in gradients; cause: np.random.shuffle at train.py:88"
    return diagnosis_to_html(found, subject=text or "cartpole", sentence=sentence)


def statistics(text: str, _folder: Path) -> str:
    found = Statistics(groups=_groups(text), between=(), bootstrap_seed=0)
    return statistics_to_html(found, {})


def sweep(text: str, _folder: Path) -> str:
    """Eight settings that differ, with long names, and a member that crashed."""
    generator = np.random.default_rng(1)
    members = [
        sweeps.SweepMember(
            recipe=text or "train",
            seed=seed,
            settings=(
                f"training.{text or 'optimizer'}.learning_rate={rate}",
                f"training.{text}batch_size={batch}",
                f"training.schedule.{text}kind={kind}",
                *(f"training.{text}more_{at}={generator.integers(3)}" for at in range(5)),
            ),
            state=sweeps.MemberState.COMPLETE,
            run="train/a",
            last_return=(text or "evaluation/return_mean", float(generator.normal(100, 20))),
        )
        for seed in (1, 2)
        for rate in (1e-4, 3e-4, 1e-3)
        for batch in (32, 64)
        for kind in ("cosine with a long name", "none")
    ]
    crashed = sweeps.SweepMember(
        recipe="train", seed=3, state=sweeps.MemberState.CRASHED, message=text or "exit code 1"
    )
    answer = Sweep(
        name=text or "train-1",
        path=Path("sweep.json"),
        members=(*members, crashed),
        actions=("run",) * (len(members) + 1),
    )
    return sweep_to_html(answer, Statistics(groups=_groups(text), between=(), bootstrap_seed=0), {})


def _groups(text: str) -> tuple[GroupStatistics, ...]:
    generator = np.random.default_rng(2)
    names = (text, f"{text}2") if text else ("train", "train lr=0.001")
    return tuple(_group(name, text, generator, at) for at, name in enumerate(names))


def _group(name: str, text: str, generator: np.random.Generator, at: int) -> GroupStatistics:
    seeds = (1, 2, 3, 4, 5)
    curves = []
    for metric in ("evaluation/return", "losses/value", "losses/policy", "charts/entropy"):
        values = [
            100 * (1 + at) * (1 - np.exp(-_STEPS / 9000)) + generator.normal(0, 6, len(_STEPS)) for _ in seeds
        ]
        if metric == "losses/policy":
            values[1][7] = math.nan
        curves.append(
            Curves(metric=metric + text, seeds=seeds, steps=(_STEPS,) * len(seeds), values=tuple(values))
        )
    windows = [Window.parse("last")]
    found = describe.describe(curves, windows=windows, generator=np.random.default_rng(0))
    members = tuple(SeedRun(seed=seed, folder=Path(f"runs/{seed}")) for seed in seeds)
    together = SeedGroup(name=name, members=members, again=(), left_out=(), digests={})
    return GroupStatistics(group=together, metrics=tuple(found), notes=(text,) if text else ())


def study(text: str, _folder: Path) -> str:
    asked = definition()
    generator = np.random.default_rng(3)
    trials = []
    for number in range(_TRIALS):
        rate = float(10 ** generator.uniform(-5, -1))
        state = {5: TrialState.FAIL, 9: TrialState.PRUNED, 14: TrialState.PRUNED}.get(
            number, TrialState.COMPLETE
        )
        value = (
            None if state is TrialState.FAIL else float(abs(math.log10(rate) + 3) + generator.normal(0, 0.2))
        )
        params = {
            "rate": rate,
            "width": int(generator.integers(8, 65)),
            "kind": ("a", [1, 2], None)[number % 3],
        }
        trials.append(Trial(number=number, params=params, state=state, value=value, message=text))
    best = min((one for one in trials if one.state is TrialState.COMPLETE), key=lambda one: one.value or 0)
    found = studies.as_data(text or asked.name, asked.as_data(), trials, best=None)
    if text:  # a setting, a choice and a metric of this name
        found["space"][text] = {"type": "categorical", "choices": [text, f"{text}2"]}
        found["metric"] = found["recipe"] = text
        for row in found["trials"]:
            row["params"][text] = text
    return study_to_html(
        {**found, "best": best.number}, importance={"rate": 0.9, text or "width": 0.1}, fresh=text
    )


def learning(text: str, _folder: Path) -> str:
    curve = DrawnCurve(label=text or "run", steps=[0, 1, 2, 3], values=[3.0, None, 1.0, 0.5])
    found = Learned(
        run=Path("runs") / (text.replace("/", "_").replace("\0", "") or "x") / "T-seed1-1",
        answers=tuple(
            Learning(
                id=f"{kind}",
                question=text or f"Is it {kind}?",
                health=kind,
                told=text or "so",
                remedy=text or "type `reprokit doctor`",
            )
            for kind in Health
        ),
        curve=(Point(metric=text or "eval/return_mean", step=1, mean=2.0, std=None),),
        probe=Path("reports/x"),
    )
    return learning_to_html(found, {name + text: curve for name in ("a/loss", "b/loss")})


def compare(text: str, folder: Path) -> str:
    """Two sides that differ from record 12 on in one metric, and never in another one."""
    generator = np.random.default_rng(4)
    noise = generator.normal(0, 0.05, 40)
    metric, equal = text or "losses/value", f"{text}losses/policy"
    for side, shift in (("a", 0.0), ("b", 1e-7)):
        (folder / side).mkdir(exist_ok=True)
        lines = [
            {
                "step": at,
                metric: math.exp(-at / 9) + float(noise[at]) + (shift * 2 ** (at - 12) if at > 11 else 0),
                equal: math.exp(-at / 20),
            }
            for at in range(40)
        ]
        text_of = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / side / "metrics.jsonl").write_text(text_of, encoding="utf-8")
    sides = {
        name: Side(
            what=text or f"commit {name}",
            runs=(str(folder / name),),
            environment={"python": text or "3.11.9"},
        )
        for name in ("a", "b")
    }
    answer = Answer(
        answer=Word.DIFFERENT,
        sentence=text or "The sides differ from step 12 on, in losses/value.",
        hint=text or "`reprokit diff` shows every metric.",
        sides=sides,
        first={
            "record": 12,
            "step": 12,
            "metric": metric,
            "expected": 0.25,
            "actual": 0.2500001,
            "abs_error": 1e-7,
            "rel_error": 4e-7,
            "ulps": 1801439851,
        },
        metrics={
            metric: {"max_abs_error": 1.2, "max_rel_error": 3.0, "mismatches": 28, "first_step": 12},
            equal: {"max_abs_error": 0.0, "max_rel_error": 0.0, "mismatches": 0, "first_step": None},
        },
        what_differs=({"kind": text or "code", "what": text or "train.py"},),
        notes=(text or "b was run first.",),
    )
    stored = StoredAnswer(
        name=text or "train",
        command="reprokit compare",
        created_at="2026-11-20T10:00:00Z",
        answer=json.loads(json.dumps(answer.as_data())),
        ignore=(),
        only=None,
        over_seeds=False,
        evidence={},
    )
    return comparison.documents(stored)[comparison.HTML]


#: Kind → what draws it, from a text (none: plain names) and a folder that it may use.
PAGES: dict[str, Callable[[str, Path], str]] = {
    "report": report,
    "gate": statistical,
    "verify": verify,
    "compare": compare,
    "diagnose": diagnosis,
    "stats": statistics,
    "sweep": sweep,
    "tune": study,
    "learning": learning,
    "index": index,
}
