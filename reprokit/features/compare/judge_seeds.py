"""The answer on two sides whose runs never repeat: results over several seeds, by the gate of the ensemble.

Side a is the reference, b is new. What is judged, and the margin, are those that a's recipe declares: b's
could widen them. It follows from the run folders and what was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from reprokit import adapters, golden, runs
from reprokit.core import log_shape
from reprokit.core.sampling.seed_rule import why_no_response
from reprokit.core.statistics import gate
from reprokit.core.statistics.gate_plan import Conclusion, GateOutcome, Metric, PlanOfLooks
from reprokit.core.statistics.gate_reason import SidesInWords, reason_for
from reprokit.core.verdicts import comparability
from reprokit.errors import CannotJudgeError, ReprokitError
from reprokit.features.compare.answer import AS_RUNS_SAY, SIDES, Answer, Asked, Side, Word
from reprokit.features.compare.judge import Selected, judged, not_run, other_code_used, side_of
from reprokit.features.compare.what_differs import what_differs
from reprokit.harness.judging.compared_with.reference_run import recipe_of
from reprokit.harness.judging.compared_with.run_identity import identity_of
from reprokit.harness.judging.windowed_values import windowed_values
from reprokit.layout import METRICS
from reprokit.recipes import StatisticalMetric

#: Of the splits and the simulated power: from the same runs, the same answer.
_GENERATOR_SEED = 0
_SIDES_IN_WORDS = SidesInWords(new="seeds of b", reference="a")
_WORDS = {
    Conclusion.EQUIVALENT: Word.EQUAL,
    Conclusion.REGRESSION: Word.DIFFERENT,
    Conclusion.UNJUDGED: Word.UNJUDGED,
}

Values = Mapping[int, Mapping[str, float]]


def answer_on(
    sides: Mapping[str, Sequence[Path]], *, selected: Selected, asked: Asked, over_seeds: bool
) -> Answer:
    """What the runs of ``a`` and ``b`` say, in bits or over seeds; nothing of runs that were touched.

    Raises:
        ReportError: A folder is no run folder.
    """
    if asked.touched:
        told = {name: asked.commits.get(name) or f"side {name}" for name in SIDES}
        about = {name: Side(what=told[name], runs=tuple(map(str, sides[name]))) for name in SIDES}
        return Answer(answer=Word.UNJUDGED, sentence=asked.touched, sides=about)
    return judged_over_seeds(sides, asked) if over_seeds else judged(sides, selected=selected, asked=asked)


def judged_over_seeds(sides: Mapping[str, Sequence[Path]], asked: Asked = AS_RUNS_SAY) -> Answer:
    """What the runs of ``a`` and ``b`` say, one a seed on each side.

    Args:
        sides: The run folders of each.
        asked: What is compared; a run may be older than what the recipe says of it now.

    Raises:
        ReportError: A folder is no run folder.
    """
    stored = {name: [runs.read(folder) for folder in sides[name]] for name in SIDES}
    about = {name: side_of(stored[name], commit=asked.commits.get(name)) for name in SIDES}
    for name in SIDES:
        if failed := next((run for run in stored[name] if not run.record.completed), None):
            return not_run(name, failed, about, asked)
    try:
        if problem := _no_evidence(stored) or other_code_used(stored, asked):
            return Answer(answer=Word.UNJUDGED, sentence=problem, sides=about)
        metrics = asked.statistical
        if metrics is None:
            metrics = recipe_of(stored["a"][0]).statistical
        values = {name: _values(stored[name], metrics) for name in SIDES}
    except ReprokitError as error:
        return Answer(answer=Word.UNJUDGED, sentence=error.told(), hint=error.fix or "", sides=about)
    if problem := _one_result(values):
        return Answer(answer=Word.UNJUDGED, sentence=problem, sides=about)
    return _answer(stored, about, metrics, values, recipes=asked.recipes)


def _no_evidence(stored: Mapping[str, Sequence[runs.StoredRun]]) -> str:
    """Why the runs are no results of two sides over the same seeds; "" where they are."""
    every = [run for name in SIDES for run in stored[name]]
    if unsealed := next((run for run in every if not run.complete), None):
        return f"{unsealed.path}: {unsealed.incomplete_because}"
    if len({run.path.resolve() for run in every}) < len(every):
        return "one run stands on both sides, or twice on one"
    seeds = [[run.record.seed for run in stored[name]] for name in SIDES]
    if seeds[0] != seeds[1] or len(set(seeds[0])) < len(seeds[0]):
        return f"the sides are not of the same seeds, each once: {seeds[0]}, {seeds[1]}"
    for name in SIDES:
        first = identity_of(stored[name][0])
        for run in stored[name]:
            question = comparability.ACROSS_SEEDS
            if objection := comparability.why_not_comparable(first, identity_of(run), question=question):
                return f"side {name}: {objection.about(run.path).reason}"
    return ""


def _values(stored: Sequence[runs.StoredRun], metrics: Sequence[StatisticalMetric]) -> Values:
    if not metrics:
        raise CannotJudgeError(
            "the recipe of side a declares no `statistical`, which says what is compared over seeds",
            fix="`statistical: {metric: …, window: last, margin: …, direction: higher}` in recipe.yaml",
        )
    return {int(run.record.seed or 0): windowed_values(run.path, metrics) for run in stored}


def _one_result(values: Mapping[str, Values]) -> str:
    """Why the seeds of a side are one result; "" where they are several."""
    for name in SIDES:
        for label in next(iter(values[name].values())):
            why = why_no_response({seed: one[label] for seed, one in values[name].items()})
            if why:
                return f"side {name} is no evidence: {label} {why}"
    return ""


def _answer(
    stored: Mapping[str, Sequence[runs.StoredRun]],
    about: Mapping[str, Side],
    declared: Sequence[StatisticalMetric],
    values: Mapping[str, Values],
    *,
    recipes: Mapping[str, Mapping[str, Any]],
) -> Answer:
    blessed = [one.as_blessed() for one in declared]
    labels = golden.labels_of(blessed)
    metrics = [
        Metric(name=label, margin=one.margin, higher_is_better=one.direction == "higher")
        for label, one in zip(labels, declared, strict=True)
    ]
    outcome = _outcome(metrics, values)
    word = _WORDS[outcome.conclusion]
    sentence = outcome.reason
    if word is Word.EQUAL:
        other = _other_logs(stored)
        word = Word.UNJUDGED if other else word
        sentence = other or f"results over seeds, not bits: {sentence}"
    answer = Answer(answer=word, sentence=sentence, sides=about)
    more = outcome.seeds_more
    hint = f"--seeds {len(values['a']) + more}" if word is Word.UNJUDGED and more else ""
    return replace(
        answer,
        hint=hint,
        what_differs=what_differs(stored["a"][0], stored["b"][0], recipes=recipes),
        statistical={
            "values": {name: {str(seed): dict(one) for seed, one in values[name].items()} for name in SIDES},
            "margins": {metric.name: metric.margin for metric in metrics},
            "outcome": asdict(outcome),
        },
    )


def _other_logs(stored: Mapping[str, Sequence[runs.StoredRun]]) -> str:
    """Which log of side b is not as those of side a, as the gate asks it of an ensemble; "" where all are."""
    known = log_shape.of_ensemble(adapters.shape_of(run.path / METRICS) for run in stored["a"])
    for run in stored["b"]:
        why = log_shape.why_other(known, adapters.shape_of(run.path / METRICS), of="side a")
        if why:
            return (
                f"seed {run.record.seed} of b {why}, so one number of it is no evidence of an equal training"
            )
    return ""


def _outcome(metrics: Sequence[Metric], values: Mapping[str, Values]) -> GateOutcome:
    reference, new = (
        {metric.name: [one[metric.name] for one in values[name].values()] for metric in metrics}
        for name in SIDES
    )
    plan = PlanOfLooks(looks=(len(values["b"]),))
    generator = np.random.default_rng(_GENERATOR_SEED)
    found = gate.judge(reference, new, metrics=metrics, generator=generator, plan=plan)
    told = reason_for(
        found.conclusion, found.looks, seeds_more=found.seeds_more, plan=plan, words=_SIDES_IN_WORDS
    )
    return replace(found, reason=told)
