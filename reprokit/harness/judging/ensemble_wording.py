"""What a report says where an ensemble decided: all tiers in one sentence, and the command to type next."""

from __future__ import annotations

import math
from pathlib import Path

from reprokit.capture import git_history
from reprokit.core.checklist import Judgement, Verdict
from reprokit.core.evidence import EnsembleEvidence, Evidence
from reprokit.core.statistics.gate_reason import TOO_FEW_SEEDS
from reprokit.core.verdicts import ensemble_tier
from reprokit.errors import ReprokitError
from reprokit.harness.judging.ensemble_evidence import PLAN

_DECIDED = {Verdict.EQUIVALENT, Verdict.REGRESSION, Verdict.UNJUDGED}


def decided(evidence: Evidence, judged: Judgement) -> EnsembleEvidence | None:
    """The ensemble that a verdict rests on; None where it rests on something else."""
    ensemble = evidence.ensemble
    if ensemble is None or ensemble.missing or not ensemble_tier.may_decide(evidence):
        return None
    if judged.verdict is Verdict.REPRODUCED and ensemble_tier.is_member_again(evidence):
        return ensemble
    by_it = judged.because == (ensemble.problem or ensemble.reason)
    return ensemble if judged.verdict in _DECIDED and by_it else None


def sentence(evidence: Evidence, judged: Judgement, *, differ: str) -> str:
    """The verdict in one sentence, with what each tier says; "" where the ensemble did not decide.

    Args:
        evidence: What was judged.
        judged: The verdict and its reason.
        differ: That the runs agree, but differ from the golden, and where.
    """
    ensemble = decided(evidence, judged)
    if ensemble is None:
        return ""
    count = len(evidence.runs)
    if judged.verdict is Verdict.REPRODUCED:
        agree = f"{count} runs agree with each other and with the run of their seed in the ensemble"
        chosen = f" It is an ensemble{chosen_of(ensemble)}." if ensemble.left_out else ""
        return f"{agree}, byte for byte. Its other seeds were not run again.{chosen}"
    if ensemble_tier.excuses_difference(evidence):
        why = ensemble_tier.why_not_repeatable(evidence)
        exact = f"Two runs with one seed differ, as the recipe says of {evidence.platform}: {why.rstrip('.')}"
    elif evidence.golden is None:
        exact = f"{count} runs agree, and there is no golden of their seed"
    else:
        exact = f"{differ}, beyond the declared tolerance"
    if judged.verdict is Verdict.EQUIVALENT:
        by = f"By the ensemble of {ensemble.num_seeds} seeds{chosen_of(ensemble)}"
        return f"{by}, {ensemble.reason}. {exact}. Equivalent results, not equal numbers."
    if judged.verdict is Verdict.REGRESSION:
        chosen = f" The ensemble was{chosen_of(ensemble)}." if ensemble.left_out else ""
        return f"{ensemble.reason}. {exact}.{chosen}"
    return f"{exact}. The ensemble{chosen_of(ensemble)} cannot judge them: {judged.because}."


def chosen_of(ensemble: EnsembleEvidence) -> str:
    """That its seeds were chosen of more finished ones, to follow "ensemble"; "" where they were not."""
    if not ensemble.left_out:
        return ""
    found = ensemble.num_seeds + len(ensemble.left_out)
    return f" chosen from {found} finished ones ({len(ensemble.left_out)} were left out when it was promoted)"


def next_command(evidence: Evidence, judged: Judgement) -> str | None:
    """What to type next, "" for nothing; None where the ensemble did not decide, or others know better."""
    ensemble = decided(evidence, judged)
    if ensemble is None:
        return None
    if judged.verdict in {Verdict.EQUIVALENT, Verdict.REPRODUCED}:
        return ""
    if judged.verdict is Verdict.REGRESSION:
        name = (evidence.recipe or {}).get("name")
        curves = f"reprokit stats {name}{ensemble_tier.stats_options(ensemble)} --html reports/seeds.html"
        return None if evidence.golden else curves
    if ensemble.ignores_seed:
        return f"have the program use its seed, then: {evidence.rerun}"
    name = (evidence.recipe or {}).get("name")
    if ensemble.reason.endswith(TOO_FEW_SEEDS):
        seeds = 2 * ensemble.num_seeds
        return (
            f"reprokit sweep {name} --seeds {seeds}, then: reprokit golden promote {name} --sweep --reason …"
        )
    return _both_sides_over_more(ensemble, name) or f"reprokit golden show {ensemble.path}"


def _both_sides_over_more(ensemble: EnsembleEvidence, name: object) -> str:
    """The comparison of the ensemble's commit with the files as they are that more seeds would decide.

    It has as many on each side as show what the ensemble and so many new ones would; "" where no number is
    known, or the ensemble is in no commit.
    """
    outcome = (ensemble.gate or {}).get("outcome") or {}
    more, new = outcome.get("seeds_more"), len((ensemble.gate or {}).get("new") or ())
    if not more or new < PLAN.looks[-1]:
        return ""
    try:
        commit = git_history.last_commit(Path(ensemble.path))[:12]
    except ReprokitError:
        return ""
    each = math.ceil(2 / (1 / ensemble.num_seeds + 1 / (new + more)))
    return f"reprokit compare {name} --a {commit} --seeds {each}"
