"""The checklist: evidence in, one row a check, and the verdict that follows from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from reprokit.core.comparing.difference import Divergence, NearbyRecord
from reprokit.core.evidence import Evidence, GoldenEvidence, RunEvidence, TraceComparison
from reprokit.core.extension_record import ReportedExtension, ReportedSection
from reprokit.core.report_parts import Attribution, CodeChanges, DrawnCurve, ReportComparisons, TraceMap
from reprokit.core.verdicts import ensemble_tier, stopped_at_golden
from reprokit.core.verdicts.agreement import (
    difference,
    differing,
    differing_trace,
    why_not_golden,
    why_not_repeated,
    why_not_responding,
)
from reprokit.core.verdicts.comparability import Objection
from reprokit.core.verdicts.rows import (
    FOREIGN,
    VERDICT_ROWS,
    CheckResult,
    Finding,
    Status,
    relaxations,
    requirements,
)

__all__ = [
    "VERDICT_ROWS",
    "CheckResult",
    "Evidence",
    "Finding",
    "GoldenEvidence",
    "Judgement",
    "Report",
    "RunEvidence",
    "Status",
    "TraceComparison",
    "Verdict",
    "exit_code",
    "judge",
    "judgement",
]


class Verdict(StrEnum):
    """What a whole report says.

    >>> Verdict("REPRODUCED") is Verdict.REPRODUCED
    True
    """

    REPRODUCED = "REPRODUCED"
    EQUIVALENT = "EQUIVALENT"
    REPEATABLE = "REPEATABLE"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    REGRESSION = "REGRESSION"
    STALE_GOLDEN = "STALE_GOLDEN"
    NO_GOLDEN = "NO_GOLDEN"
    CHECK_FAILED = "CHECK_FAILED"
    UNJUDGED = "UNJUDGED"
    NOT_RUN = "NOT_RUN"


_EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.REPRODUCED: 0,
    Verdict.EQUIVALENT: 0,
    Verdict.REPEATABLE: 0,
    Verdict.NONDETERMINISTIC: 1,
    Verdict.REGRESSION: 1,
    Verdict.CHECK_FAILED: 1,
    Verdict.NOT_RUN: 3,
    Verdict.STALE_GOLDEN: 4,
    Verdict.NO_GOLDEN: 4,
    Verdict.UNJUDGED: 4,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict, and the one sentence that it rests on."""

    verdict: Verdict
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole answer: ``report.json`` field for field (design: file contracts).

    Attributes:
        divergence: The first one that decided the verdict (run against run, else against golden).
        nearby: The records before and after it; empty where they cannot be paired.
        trace: Which tensors differ in which update around it; None where traces do not differ.
        timing: Seconds for each phase, and what the runs say of themselves.
        curves: Metric → a curve of each run, and of the golden.
        not_run: For NOT_RUN: ``outcome``, ``message``, ``remedy``, ``log_tail``.
        recipe_file: Path of the recipe from the project's root, or None for a plain command.
        recipe_lines: Dotted path in the recipe (``tolerances``, ``logging.save_interval``)
            → line, counted from 1: where annotations are hung up.
        evidence_digests: Path of each run's ``COMPLETE`` and of the golden's ``provenance.json`` →
            SHA-256, so that evidence exchanged later is found.
        code_changes: Where the runs differ from the golden or from each other, what changed since the golden.
        attribution: Where it was asked for, whose fault that is.
        rounding: Where it was asked for, whether a stale golden's environment does more than rounding: as in
            the answer of ``compare``, with ``twins_of`` (``golden`` or ``today``) and a ``sentence``.
        cause: Where it was asked for, what `reprokit diagnose` found of two runs that differ, as its
            ``--json`` has it; ``problem`` alone where it could not.
        stress: Where the runs were disturbed (``--stress``), how many of them differ and how many may:
            ``runs``, ``differ``, ``results``, ``interval``, ``level``, ``at_most`` (the bound where none
            differs, else null), ``pair`` (two runs that differ) and ``not_made``.
        bundle: Where the runs were made from a bundle, its ``file`` and ``sha256``; ``sha256_asked``, where
            one was typed; and ``commit``, where it names one.
        statistical: Where an ensemble judged: ``reference`` and ``new`` (seed → metric → value), ``outcome``
            (a ``GateOutcome`` as JSON), ``margins`` (metric → margin) and ``rates``.
        tool: Which tool judged: ``name``, ``version`` and ``code``, the digest of its files.
        extensions: The extensions that were loaded, and what they had to do with this report.
        sections: What they wrote into it, which nothing follows from.
    """

    verdict: Verdict
    exit_code: int
    sentence: str
    next_command: str
    recipe: str
    platform: str
    seed: int
    runs: tuple[str, ...]
    golden: str | None
    environment_diff: Sequence[Mapping[str, Any]]
    divergence: Divergence | None
    checks: tuple[CheckResult, ...]
    timing: Mapping[str, Any]
    curves: Mapping[str, Sequence[DrawnCurve]]
    environment: Mapping[str, Any]
    comparisons: ReportComparisons
    created_at: str
    command: str
    rerun: str
    not_run: Mapping[str, Any] | None = None
    recipe_file: str | None = None
    recipe_lines: Mapping[str, int] = field(default_factory=dict)
    evidence_digests: Mapping[str, str] = field(default_factory=dict)
    code_changes: CodeChanges | None = None
    attribution: Attribution | None = None
    rounding: Mapping[str, Any] | None = None
    cause: Mapping[str, Any] | None = None
    stress: Mapping[str, Any] | None = None
    bundle: Mapping[str, Any] | None = None
    statistical: Mapping[str, Any] | None = None
    nearby: tuple[NearbyRecord, ...] = ()
    trace: TraceMap | None = None
    tool: Mapping[str, str] | None = None
    extensions: tuple[ReportedExtension, ...] = ()
    sections: tuple[ReportedSection, ...] = ()
    schema: int = 1


def exit_code(verdict: Verdict) -> int:
    """The process exit code that a verdict ends in."""
    return _EXIT_CODES[verdict]


def judge(evidence: Evidence, checks: Sequence[CheckResult], *, registry: Mapping[str, bool]) -> Verdict:
    """The verdict alone; see ``judgement``."""
    return judgement(evidence, checks, registry=registry).verdict


def judgement(
    evidence: Evidence, checks: Sequence[CheckResult], *, registry: Mapping[str, bool]
) -> Judgement:
    """The verdict that follows from evidence and rows, in the order of precedence, and why.

    Rows alone never make a good verdict: that two runs agree, and agree with the golden, is read
    from the evidence again, whatever the rows say and whatever a recipe relaxes.

    Args:
        evidence: What was gathered.
        checks: The rows, as ``reprokit.checks.run_all`` returns them.
        registry: Every row there must be: id → whether it is advisory. A row that is absent is
            not a row that passed.

    Returns:
        NONDETERMINISTIC if two finished runs of one thing differ, whatever else fails; of runs that were
        stopped at the golden REGRESSION, STALE_GOLDEN or UNJUDGED; NOT_RUN if one did not finish; UNJUDGED
        if they were disturbed on purpose, or there are not two to compare; then NO_GOLDEN, REGRESSION or
        STALE_GOLDEN, or what an ensemble says in their place; then what the required rows say.
    """
    for rule in (
        _differing,
        _stopped,
        _unfinished,
        _stressed,
        _without_extension,
        _unproven,
        _by_ensemble,
        _against_golden,
    ):
        found = rule(evidence)
        if found is not None:
            return found
    return _of_rows(evidence, checks, registry)


def _differing(evidence: Evidence) -> Judgement | None:
    because = ""
    if ensemble_tier.excuses_difference(evidence):
        return None
    if differing(evidence) is not None:
        because = "two runs with one seed differ"
    elif (found := differing_trace(evidence)) is not None:
        first = found[1].first or {}
        place = first.get("place") or first.get("what") or "in a digest"
        because = f"two runs with one seed log equal numbers, but parameters or random states differ: {place}"
    return Judgement(verdict=Verdict.NONDETERMINISTIC, because=because) if because else None


def _stopped(evidence: Evidence) -> Judgement | None:
    """Runs that were stopped at the golden differ from it, or nothing is known."""
    if (
        not evidence.stopped_at_golden
        or evidence.is_stressed
        or not all(run.is_judged for run in evidence.runs)
    ):
        return None
    if evidence.extension_missing:
        return Judgement(verdict=Verdict.UNJUDGED, because=evidence.extension_missing)
    objection, golden = stopped_at_golden.why_not_different(evidence), evidence.golden
    if objection is None and golden is not None:
        return _beyond_tolerance(golden)
    because = objection.reason if objection else "there is no golden"
    return Judgement(verdict=Verdict.UNJUDGED, because=because)


def _unfinished(evidence: Evidence) -> Judgement | None:
    if not evidence.runs:
        return Judgement(verdict=Verdict.NOT_RUN, because="nothing was run")
    for run in evidence.runs:
        if not run.complete:
            because = f"{run.path}: {run.incomplete_because or 'the run did not finish'}"
            return Judgement(verdict=Verdict.NOT_RUN, because=because)
    return None


def _without_extension(evidence: Evidence) -> Judgement | None:
    """What a golden was promoted with is not loaded: nothing is compared with it."""
    missing = evidence.extension_missing
    return Judgement(verdict=Verdict.UNJUDGED, because=missing) if missing else None


def _stressed(evidence: Evidence) -> Judgement | None:
    """Disturbed runs show that runs differ, and never that they do not."""
    if not evidence.is_stressed:
        return None
    objection = why_not_repeated(evidence)
    because = objection.reason if objection else "runs under stress never prove that a program repeats"
    return Judgement(verdict=Verdict.UNJUDGED, because=because)


def _unproven(evidence: Evidence) -> Judgement | None:
    if ensemble_tier.excuses_difference(evidence):
        return None
    objection = why_not_repeated(evidence)
    return Judgement(verdict=Verdict.UNJUDGED, because=objection.reason) if objection else None


def _by_ensemble(evidence: Evidence) -> Judgement | None:
    found = ensemble_tier.answer(evidence)
    return Judgement(verdict=Verdict(found[0]), because=found[1]) if found else None


def _against_golden(evidence: Evidence) -> Judgement | None:
    if evidence.recipe is None:
        return None
    if ensemble_tier.is_equivalent(evidence) or ensemble_tier.is_member_again(evidence):
        return None
    golden = evidence.golden
    if golden is None:
        because = evidence.golden_missing_because or "there is no golden"
        return Judgement(verdict=Verdict.NO_GOLDEN, because=because)
    if golden.comparison.comparable and not golden.comparison.within_tolerance:
        return _beyond_tolerance(golden)
    objection = why_not_golden(evidence)
    if objection is None and not golden.is_foreign:  # as of a plain command, only that runs agree is said
        objection = why_not_responding(evidence)
    if objection is None:
        return None
    return Judgement(verdict=Verdict.UNJUDGED, because=f"compared with {golden.noun}: {objection.reason}")


def _beyond_tolerance(golden: GoldenEvidence) -> Judgement:
    """What it means that the metrics differ: of a foreign log nothing, for no one knows how it was made."""
    differ = f"the metrics differ from {golden.noun}"
    if golden.is_foreign or golden.environment_unknown:
        unknown = f"; whether the environment computes the same is not known: {golden.environment_unknown}"
        beyond = " by more than the declared tolerance" if golden.is_foreign else ""
        because = f"{differ}{beyond}, {difference(golden.comparison)}{'' if golden.is_foreign else unknown}"
        return Judgement(verdict=Verdict.UNJUDGED, because=because)
    if golden.fingerprint_equal:
        return Judgement(verdict=Verdict.REGRESSION, because=differ)
    because = f"{differ}, in an environment that computes differently"
    return Judgement(verdict=Verdict.STALE_GOLDEN, because=because)


def _of_rows(evidence: Evidence, checks: Sequence[CheckResult], registry: Mapping[str, bool]) -> Judgement:
    counting = [row for row in checks if _counts(row, evidence, registry)]
    failed = [row.id for row in counting if row.status == Status.FAILED]
    if failed:
        return Judgement(verdict=Verdict.CHECK_FAILED, because=f"required checks failed: {', '.join(failed)}")
    unknown = [row.id for row in counting if row.status != Status.PASSED]
    objection = _rows_missing(checks, registry)
    said = _of_others(evidence) if evidence.strict else None
    if unknown:
        also = f"; {said.reason}" if said else ""
        objection = Objection(f"required checks were not judged: {', '.join(unknown)}{also}")
    elif objection is None and not counting:
        objection = Objection("no check is required")
    elif objection is None and evidence.modified:
        objection = Objection("a modified run is not the recipe's")
    elif objection is None:
        objection = said
    if objection is not None:
        return Judgement(verdict=Verdict.UNJUDGED, because=objection.reason)
    if evidence.recipe is None:
        return Judgement(verdict=Verdict.REPEATABLE, because="all runs agree")
    if evidence.golden is not None and evidence.golden.is_foreign:
        because = f"all runs agree, and are within the declared tolerance of {evidence.golden.noun}"
        return Judgement(verdict=Verdict.REPEATABLE, because=because)
    if evidence.ensemble is not None and ensemble_tier.is_equivalent(evidence):
        return Judgement(verdict=Verdict.EQUIVALENT, because=evidence.ensemble.reason)
    noun = evidence.golden.noun if evidence.golden else "the ensemble's run of their seed"
    return Judgement(verdict=Verdict.REPRODUCED, because=f"all runs agree with each other and with {noun}")


def _of_others(evidence: Evidence) -> Objection | None:
    """Under ``--strict`` nothing passes in which code from outside the package had a say."""
    said = [f"{one.label} ({', '.join(one.had_say)})" for one in evidence.extensions if one.had_say]
    return Objection(f"an extension had a say in what was compared: {'; '.join(said)}") if said else None


def _counts(row: CheckResult, evidence: Evidence, registry: Mapping[str, bool]) -> bool:
    """Whether a row decides. One that FAILED is excused by who it is, not because it says so.

    One of an extension never does.
    """
    if row.id.startswith(FOREIGN):
        return False
    if row.required or row.id in relaxations(evidence.recipe):
        return row.required
    advisory = registry.get(row.id, False) and not evidence.strict
    excused = advisory and row.id not in requirements(evidence.recipe)
    return row.status not in {Status.PASSED, Status.SKIPPED} and not excused


def _rows_missing(checks: Sequence[CheckResult], registry: Mapping[str, bool]) -> Objection | None:
    count = Counter(row.id for row in checks)
    absent = sorted(set(registry) - set(count))
    if absent:
        return Objection(f"checks are missing: {', '.join(absent)}")
    doubled = sorted(name for name, times in count.items() if times > 1)
    return Objection(f"checks appear twice: {', '.join(doubled)}") if doubled else None
