"""New seeds compared with the ensemble of their recipe and platform, from run folders and golden alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from reprokit import adapters, golden, runs
from reprokit.core import fingerprint, log_shape
from reprokit.core.comparing.metric_names import better
from reprokit.core.evidence import EnsembleEvidence
from reprokit.core.sampling import seed_rule
from reprokit.core.statistics import gate
from reprokit.core.statistics.gate_plan import Conclusion, GateOutcome, Metric, PlanOfLooks
from reprokit.core.statistics.gate_rates import rates_of
from reprokit.core.verdicts import comparability
from reprokit.core.verdicts.rows import listed
from reprokit.errors import CannotJudgeError, MetricsError, MissingExtraError, ReportError
from reprokit.golden import Ensemble
from reprokit.harness.judging.compared_with.run_identity import identity_of
from reprokit.harness.judging.differences import what_changed
from reprokit.harness.judging.extension_evidence import missing_of
from reprokit.harness.judging.seed_response import (
    digests_of_responding,
    metrics_of_one_result,
    silent_metrics,
)
from reprokit.harness.judging.windowed_values import windowed_values
from reprokit.layout import METRICS
from reprokit.recipes import Recipe
from reprokit.records import environment_json, run_json
from reprokit.workspace import sha256_of

PLAN = PlanOfLooks()
#: Of the splits and the simulated power: from the same runs, the same answer.
_GENERATOR_SEED = 0
_SEED_IGNORED = "the program does not seem to use its seed"
_LOGS_NOT_KEPT = (
    "; whether the logs have the ensemble's metrics, records and finite values was not judged: "
    "it was promoted before that was kept"
)


def ensemble_evidence(
    recipe: Recipe, first: Path, folders: Sequence[Path], *, platform: str, golden_dir: Path
) -> EnsembleEvidence:
    """What the ensemble says of new seeds.

    Args:
        recipe: What was run, with its ``statistical``.
        first: A run of the same with the seed that is judged.
        folders: The runs of the new seeds, in any order; none where none was made yet.
        platform: Of the runs.
        golden_dir: The folder of goldens.

    Raises:
        GoldenError: The ensemble is not what was promoted.
    """
    place = golden.locate_ensemble(golden_dir, recipe=recipe.name, platform=platform)
    if not recipe.statistical:
        return EnsembleEvidence(missing="the recipe declares no `statistical` that an ensemble is judged by")
    if not place.is_dir():
        return EnsembleEvidence(missing=f"there is no ensemble for {recipe.name} on {platform}")
    ensemble = golden.load_ensemble(place)
    about = EnsembleEvidence(
        path=str(place),
        num_seeds=len(ensemble.members),
        left_out=ensemble.provenance.left_out,
        fingerprint_equal=fingerprint.same(ensemble.provenance.environment, environment_json.recorded(first)),
        is_member=_is_member(first, ensemble),
        runs=tuple(map(str, folders)),
    )
    not_loaded = missing_of(ensemble.provenance.extensions, whose="the ensemble")
    if problem := not_loaded or _blessed_otherwise(recipe, ensemble) or why_silent(ensemble):
        return replace(about, problem=problem)
    return _judged(recipe, first, folders, ensemble, about) if folders else about


def why_silent(ensemble: Ensemble) -> str:
    """Why the seeds of an ensemble are one result, by today's rule; "" where they are several."""
    for label in ensemble.labels:
        values = {member.seed: member.values[label] for member in ensemble.members}
        if why := seed_rule.why_no_response(values):
            return f"the ensemble is no evidence: {label} {why}"
    return ""


def planned_seeds(ensemble: Ensemble) -> tuple[int, ...]:
    """The new seeds of all looks: they count on from the ensemble's largest.

    The ensemble alone decides, so that no one chooses seeds that come out well.
    """
    largest = max(ensemble.seeds)
    return tuple(range(largest + 1, largest + 1 + PLAN.looks[-1]))


def _is_member(first: Path, ensemble: Ensemble) -> bool:
    stored = runs.read(first)
    recorded = {member.seed: member.metrics for member in ensemble.members}
    own = recorded.get(_seed_of(stored))
    return stored.complete and own is not None and own == sha256_of(first / METRICS)


def _blessed_otherwise(recipe: Recipe, ensemble: Ensemble) -> str:
    """How the recipe's declaration differs from the one that was blessed; "" where it does not."""
    then = list(ensemble.provenance.statistical)
    now = [one.as_blessed() for one in recipe.statistical]
    if then == now:
        return ""
    where = what_changed.recipe_line(recipe.name, "statistical", recipe.lines)
    again = f"`reprokit golden promote {recipe.name} --sweep --reason …` promotes a new one"
    for old, new in zip(then, now, strict=False):
        changed = [name for name in old._fields if getattr(old, name) != getattr(new, name)]
        if changed:
            told = ", ".join(
                f"{name} {getattr(new, name)!r}, promoted {getattr(old, name)!r}" for name in changed
            )
            return (
                f"{where}: the ensemble was promoted with different terms for {old.metric}: {told}; {again}"
            )
    return (
        f"{where}: the ensemble was promoted for {len(then)} metrics, and there are {len(now)} now; {again}"
    )


def _judged(
    recipe: Recipe, first: Path, folders: Sequence[Path], ensemble: Ensemble, about: EnsembleEvidence
) -> EnsembleEvidence:
    stored = [_read(folder) for folder in folders]
    for one in stored:
        if not one.complete:
            told = f"{one.path}: {one.incomplete_because or 'the run did not finish'}"
            return replace(about, not_run=told, failed_run=str(one.path))
    stored.sort(key=_seed_of)
    about = replace(about, runs=tuple(str(one.path) for one in stored))
    problem = _no_evidence(runs.read(first, verify=False), stored, ensemble)
    repeated = "" if problem else _repeated_metrics(stored, ensemble)
    if problem or repeated:
        why = problem or f"{repeated}; {_SEED_IGNORED}"
        return replace(about, problem=why, ignores_seed=bool(repeated))
    try:
        new = {str(one.record.seed): dict(windowed_values(one.path, recipe.statistical)) for one in stored}
    except CannotJudgeError as error:
        return replace(about, problem=str(error))
    reference = {str(member.seed): dict(member.values) for member in ensemble.members}
    metrics = _metrics(ensemble)
    try:
        outcome = _outcome(metrics, reference, new)
    except MissingExtraError as error:
        return replace(about, problem=str(error))
    reason = outcome.reason
    if outcome.conclusion is Conclusion.EQUIVALENT:
        own = _far_off(recipe, first, ensemble)
        if problem := own or _silent(recipe, first, stored, new) or _other_logs(first, stored, ensemble):
            return replace(about, problem=problem)
        reason += _one_training(first, stored) + ("" if ensemble.provenance.logs else _LOGS_NOT_KEPT)
    data = {
        "reference": reference,
        "new": new,
        "outcome": asdict(outcome),
        "margins": {metric.name: metric.margin for metric in metrics},
        "rates": rates_of(outcome, PLAN),
        **({"left_out": list(ensemble.provenance.left_out)} if ensemble.provenance.left_out else {}),
    }
    return replace(about, conclusion=str(outcome.conclusion), reason=reason, gate=data)


def _seed_of(stored: runs.StoredRun) -> int:
    """Its seed; -1, which no run has, where it says none."""
    return -1 if stored.record.seed is None else stored.record.seed


def _read(folder: Path) -> runs.StoredRun:
    try:
        return runs.read(folder)
    except ReportError as error:
        return runs.StoredRun(path=folder, complete=False, incomplete_because=str(error))


def _no_evidence(first: runs.StoredRun, stored: Sequence[runs.StoredRun], ensemble: Ensemble) -> str:
    """Why the new runs are no evidence against the ensemble, one sentence; "" where they are."""
    seeds = [one.record.seed for one in stored]
    planned = list(planned_seeds(ensemble))[: len(seeds)]
    if seeds != planned:
        return f"the new seeds are {seeds}, not those that follow from the ensemble: {planned}"
    own = identity_of(first)
    for one in stored:
        question = comparability.ACROSS_SEEDS
        if objection := comparability.why_not_comparable(own, identity_of(one), question=question):
            return objection.about(one.path).reason
        if objection := comparability.why_not_its_own(one.record):
            return objection.about(one.path).reason
        if not (one.path / METRICS).is_file():
            return f"seed {one.record.seed} left no metrics that could be compared: {one.path}"
    return ""


def _repeated_metrics(stored: Sequence[runs.StoredRun], ensemble: Ensemble) -> str:
    """Which new run has the metrics of a run with another seed, one sentence; "" where none has."""
    digests = {member.metrics: f"seed {member.seed} of the ensemble" for member in ensemble.members}
    for one in stored:
        name = f"seed {one.record.seed}"
        digest = sha256_of(one.path / METRICS)
        if digest in digests:
            return f"{name} gave the metrics of {digests[digest]}, byte for byte: they are one result"
        digests[digest] = name
    return ""


def _other_logs(first: Path, stored: Sequence[runs.StoredRun], ensemble: Ensemble) -> str:
    """Which new log is not as the ensemble's, and in what; "" where all are, or that was not kept."""
    if ensemble.provenance.logs is None:
        return ""
    for folder in (first, *(one.path for one in stored)):
        seed = run_json.recorded(folder).seed
        try:
            why = log_shape.why_other(ensemble.provenance.logs, adapters.shape_of(folder / METRICS))
        except MetricsError as error:
            return str(error)
        if why:
            return f"seed {seed} {why}, so one number of it is no evidence of an equal training"
    return ""


def _silent(
    recipe: Recipe, first: Path, stored: Sequence[runs.StoredRun], new: Mapping[str, Mapping[str, float]]
) -> str:
    """Why new seeds whose values are like the ensemble's are one result; "" where they are several."""
    labels = golden.labels_of([one.as_blessed() for one in recipe.statistical])
    metrics = {label: one.metric for label, one in zip(labels, recipe.statistical, strict=True)}
    own = {_seed_of(runs.read(first, verify=False)): first}  # judged too, and of a seed that is further away
    folders = {**own, **{_seed_of(one): one.path for one in stored}}
    try:
        values = {
            **{seed: windowed_values(folder, recipe.statistical) for seed, folder in own.items()},
            **{int(seed): one for seed, one in new.items()},
        }
        found = silent_metrics({seed: one / METRICS for seed, one in folders.items()}, values, metrics)
        few = metrics_of_one_result({seed: one / METRICS for seed, one in folders.items()}, metrics)
    except (MetricsError, CannotJudgeError) as error:
        return str(error)
    found = found or few
    results = list(digests_of_responding({seed: one / METRICS for seed, one in folders.items()}).values())
    if 1 < len(set(results)) < len(results):
        return (
            "two of the new seeds have the same metrics, except for what repeats the seed or is constant: "
            "they are one result"
        )
    return next((f"the new seeds are no evidence: {label} {why}" for label, why in found.items()), "")


def _far_off(recipe: Recipe, first: Path, ensemble: Ensemble) -> str:
    """How much worse the judged run itself is than every member, one sentence; "" where it is not.

    It is no sample of the gate, whose seeds are new; but it is one of the program's results. A normal metric
    is beyond the worst member by their whole range in 3 of 100,000 cases with 20 seeds, 1 of 1,000 with 10.
    """
    try:
        own = windowed_values(first, recipe.statistical)
    except CannotJudgeError as error:
        return str(error)
    for metric in _metrics(ensemble):
        sign = 1.0 if metric.higher_is_better else -1.0
        values = [sign * member.values[metric.name] for member in ensemble.members]
        allowed = max(metric.margin, max(values) - min(values))
        if not sign * own[metric.name] >= min(values) - allowed:
            low, high = sorted((sign * min(values), sign * max(values)))
            return (
                f"{metric.name} of the judged seed itself came to {own[metric.name]:g}, far from all "
                f"{len(values)} seeds of the ensemble ({low:g} to {high:g}): new seeds alone are no evidence "
                "that it is as good as before"
            )
    return ""


def _one_training(first: Path, stored: Sequence[runs.StoredRun]) -> str:
    """That a result next to those judged, such as a loss, is equal in all seeds; "" where none is."""
    logs = [adapters.read_series(folder / METRICS) for folder in (first, *(one.path for one in stored))]
    equal = [
        name
        for name in logs[0]
        if better(name)
        and all(name in log for log in logs)
        and seed_rule.is_of_one_curve([np.asarray(log[name].values, dtype=np.float64) for log in logs])
    ]
    if not equal:
        return ""
    return (
        f"; {listed(equal)} {'has' if len(equal) == 1 else 'have'} one curve in all {len(logs)} seeds: the "
        "training may not follow the seed, so that these are one training, judged again"
    )


def _metrics(ensemble: Ensemble) -> tuple[Metric, ...]:
    """What is judged: margins only as they were blessed."""
    blessed = ensemble.provenance.statistical
    return tuple(
        Metric(name=label, margin=one.margin, higher_is_better=one.direction == "higher")
        for label, one in zip(golden.labels_of(blessed), blessed, strict=True)
    )


def _outcome(
    metrics: Sequence[Metric],
    reference: Mapping[str, Mapping[str, float]],
    new: Mapping[str, Mapping[str, float]],
) -> GateOutcome:
    before, after = (
        {metric.name: [values[metric.name] for values in side.values()] for metric in metrics}
        for side in (reference, new)
    )
    generator = np.random.default_rng(_GENERATOR_SEED)
    return gate.judge(before, after, metrics=metrics, generator=generator, plan=PLAN)
