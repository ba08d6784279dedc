"""What a verdict rests on: runs that were read back, their comparisons, and the golden.

Every default means "not known", so that evidence that no one gathered can never read as evidence that is
good.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from reprokit.core.comparison import Comparison, Problem
from reprokit.core.environment_record import DifferingFact, EnvironmentRecord
from reprokit.core.extension_record import ReportedExtension
from reprokit.core.provenance import Provenance
from reprokit.core.run_record import RunRecord
from reprokit.core.verdicts.expected_results import ExpectedWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvidence:
    """One run folder, read.

    Attributes:
        complete: True only when COMPLETE is there and every digest in it matches.
        incomplete_because: Why not, one sentence; empty when complete.
        stopped_at_golden: Whether it was stopped because it differs from the golden. What is compared then
            are the first records that all runs have; such runs show a difference, or nothing.
        run: ``run.json``.
        other_seed: ``other-seed.json``: what was seen of the run with another seed.
        other_run: What that says of its ``run.json``; None where there is none that can be believed.
        runtime: ``runtime.json``: what the runtime proved inside (empty when missing).
        config: ``config.yaml`` (None when missing).
        config_differs: Paths of settings in which ``config.yaml`` is not what the recipe says;
            empty when they are equal, None when no one compared them.
        metric_names: Every name in ``metrics.jsonl``, sorted, ``step`` left out.
        without_value: Those of them that hold no finite number and no text, which proves nothing.
        metrics_problems: What is odd about the metrics themselves (torn line, record without step,
            uneven steps, …), warnings too; empty when there is nothing odd, None when no one read
            them.
        windowed: What was read of the expected metrics whose recipe names another window than the last value.
        update_steps: Steps at which an update of the parameters ended, increasing, from
            ``trace.jsonl``; empty when the program does not say.
        checkpoints: One entry a file under ``checkpoints/``: name → ``step`` (None for the final
            model), ``sha256_ok`` (the manifest's digest is the file's), ``loadable`` (proven
            inside the environment: True, False, or None if never tried), ``reason``.
        checkpoints_removed: Name → ``sha256`` and ``step`` of the checkpoints that were written and not
            kept, as ``MANIFEST.json`` remembers them.
        files: Name → size in bytes, of every file in the run folder.
    """

    path: str
    complete: bool
    incomplete_because: str = ""
    stopped_at_golden: bool = False
    run: RunRecord = field(default_factory=RunRecord)
    environment: EnvironmentRecord = field(default_factory=EnvironmentRecord)
    runtime: Mapping[str, Any] = field(default_factory=dict)
    instrument: Mapping[str, Any] = field(default_factory=dict)
    other_seed: Mapping[str, Any] = field(default_factory=dict)
    other_run: RunRecord | None = None
    config: Mapping[str, Any] | None = None
    config_differs: tuple[str, ...] | None = None
    num_records: int = 0
    metric_names: tuple[str, ...] = ()
    without_value: tuple[str, ...] = ()
    metrics_problems: tuple[Problem, ...] | None = None
    last_step: Any = None
    final_values: Mapping[str, Any] = field(default_factory=dict)
    windowed: Mapping[str, ExpectedWindow] = field(default_factory=dict)
    update_steps: tuple[int, ...] = ()
    checkpoints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    checkpoints_removed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    trace_records: int = 0
    trace_digest: str | None = None

    @property
    def is_judged(self) -> bool:
        """Whether what was compared of it is evidence: all of it, or the beginning where it was stopped."""
        return self.complete or self.stopped_at_golden


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceComparison:
    """Two traces, compared record by record.

    Attributes:
        first: The first difference: ``step``, ``what`` (the digest's name), ``expected``,
            ``actual``, and of several ranks ``rank`` and ``place`` (where, in words); None when equal.
    """

    equal: bool
    records_compared: int
    first: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StressEvidence:
    """How often disturbed runs differ.

    Attributes:
        num_runs: How many there are.
        differ: How many of them do not have the most frequent result.
        results: How many different results there are.
        low: Of the exact two-sided 95 % interval of the share of ``differ``.
        high: The same.
        at_most: The one-sided bound where none differs; else None.
        pair: Of the most frequent result and of another one the first run; empty where none differs.
        not_made: What could not be done to some run: name → why.
    """

    num_runs: int
    differ: int
    results: int
    low: float
    high: float
    at_most: float | None = None
    pair: tuple[str, ...] = ()
    not_made: Mapping[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """As ``report.json`` has it."""
        return {
            "runs": self.num_runs,
            "differ": self.differ,
            "results": self.results,
            "interval": [self.low, self.high],
            "level": 0.95,
            "at_most": self.at_most,
            "pair": list(self.pair),
            "not_made": dict(self.not_made),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRun:
    """A finished run in the golden's place; its ``overrides`` (``--set``) are those of its repetition too."""

    path: str
    overrides: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        return f"the run {posixpath.basename(posixpath.normpath(self.path))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenEvidence:
    """The golden, or the run in its place, that the runs were compared with.

    Attributes:
        num_records: Records in the golden's metrics; 0 when no one counted them.
        comparison: The first run's metrics against the golden's, at the recipe's tolerances.
        fingerprint_equal: Whether the runs' numerics fingerprint is the golden's.
        environment_unknown: Why it is not known in which Python one of the programs ran, so that
            the fingerprints say nothing; "" where it is known.
        environment_diff: Field paths that differ: list of ``field``, ``expected``, ``actual``,
            ``can_change_numbers``.
        changed: Which of ``recipe``, ``trainer``, ``config``, ``lock`` are not the golden's.
        program_changes: Where an unmodified program is not the golden's: ``file:line old → new``.
        trace: The first run's trace against the golden's thinned one, at the steps that the golden
            holds. None when the golden or the run has none.
        is_foreign: Whether it is a log that someone published, about which nothing is known but its numbers.
    """

    noun: str = "the golden"
    path: str
    provenance: Provenance
    num_records: int = 0
    comparison: Comparison
    fingerprint_equal: bool
    environment_unknown: str = ""
    environment_diff: Sequence[DifferingFact] = ()
    changed: tuple[str, ...] = ()
    program_changes: tuple[str, ...] = ()
    trace: TraceComparison | None = None
    has_trace: bool = False
    is_foreign: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResponse:
    """Whether the metrics of an unmodified program respond to its seed.

    Attributes:
        shown_by: What shows it, as a clause; "" where nothing does.
        why_not: Why nothing shows it, as a clause; "" where something does.
        run: The run with another seed that was compared, or "".
        seed: The seed of that run.
        third_run: The run with a third seed, where the second one could not tell, or "".
        third_seed: The seed of that run.
        needs_third: Whether nothing shows it only because a third seed was not run.
        metrics: Those that responded in them.
    """

    shown_by: str = ""
    why_not: str = ""
    run: str = ""
    seed: int | None = None
    third_run: str = ""
    third_seed: int | None = None
    needs_third: bool = False
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepEvidence:
    """The members of sweeps that have everything in common with the judged runs but the seed.

    Attributes:
        final_values: Seed → metric → its last value, of each finished run.
        windowed: Seed → the same as of a run.
        metrics_digests: Seed → digest of its metrics, without those that only repeat the seed; those of other
            seeds were not read.
        failures: Seed → why its run is no finished one, of those that crashed or were changed afterwards.
        runs: The run folders of all of them.
        intervals: Expected metric → ``estimate``, ``low``, ``high``, ``method``, ``num_seeds`` and
            ``coverage``: shape of the returns → how often such an interval holds the true mean. The method
            is ``equal_values``, without limits, where all seeds ended at one value. ``window`` is there
            where the recipe names another one than the last value.
        outdated: Why they say nothing of the program as it is now, one sentence; "" where that is not known.
    """

    final_values: Mapping[int, Mapping[str, Any]]
    windowed: Mapping[int, Mapping[str, ExpectedWindow]] = field(default_factory=dict)
    outdated: str = ""
    metrics_digests: Mapping[int, str] = field(default_factory=dict)
    failures: Mapping[int, str] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    intervals: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleEvidence:
    """The ensemble of a recipe and platform, and what its gate says of new seeds.

    Attributes:
        path: Its folder.
        missing: That there is none, one sentence; "" where there is one.
        problem: Why it cannot judge these runs, one sentence; "" where it can.
        not_run: Why a new seed has no finished run, one sentence; "" where all have.
        failed_run: The folder of that run, or "".
        num_seeds: How many seeds it has.
        left_out: Seeds that were finished when it was promoted, and were left out of it.
        fingerprint_equal: Whether the numerics fingerprint of the runs is the ensemble's.
        is_member: Whether the first run's metrics are, byte for byte, those of its member of that seed.
        ignores_seed: Whether ``problem`` is that runs with different seeds are one result.
        conclusion: ``EQUIVALENT``, ``REGRESSION`` or ``UNJUDGED``; "" where nothing was judged.
        reason: The gate's own sentence.
        runs: The run folders of the new seeds, in the order in which they were planned.
        gate: What the report has under ``statistical``; None where nothing was judged.
    """

    path: str = ""
    missing: str = ""
    problem: str = ""
    not_run: str = ""
    failed_run: str = ""
    num_seeds: int = 0
    left_out: tuple[int, ...] = ()
    fingerprint_equal: bool = False
    is_member: bool = False
    ignores_seed: bool = False
    conclusion: str = ""
    reason: str = ""
    runs: tuple[str, ...] = ()
    gate: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeEvidence:
    """A training that was stopped and resumed, compared with the first run, which was never stopped.

    Attributes:
        problem: Why the three runs cannot be compared, one sentence; "" when they can.
        failure: What is wrong with the resumed run itself, one sentence; "" when nothing is.
        signal: What ended the stopped run, such as ``SIGKILL``; "" when no one knows.
        stopped_at: Step of the last record that the stopped run wrote; None when it wrote none.
        step: Of the checkpoint; records up to it come from the stopped run, later ones from the resumed run.
        first_resumed: Step of the resumed run's first record; None when it wrote none.
        records: Records of ``metrics.jsonl`` that were compared, byte for byte.
        updates: Records of ``trace.jsonl`` that were compared, byte for byte; None where the uninterrupted
            run has no trace.
        checkpoints: Checkpoints whose contents were compared: those after ``step``, and the final model.
        first: The first difference: ``where`` (file or checkpoint), ``what``, ``expected``, ``actual``;
            None when all is equal.
        resumed_s: Seconds that the resumed run took, of its own clock; None when it does not say.
        whole_s: Seconds that the uninterrupted run took, likewise.
        stop_args: What stopped an unmodified program; () where a whole run left what it was resumed from.
            None for a trainer. Such a program is judged by its records alone, aligned by step.
        place: Where it was killed, in words, as one of several; "" otherwise.
        lost: Parts of the state that were not those of the whole run when the first update was made.
        counted: Of a program: the run that its places were counted in.
    """

    stopped: str
    resumed: str
    problem: str = ""
    failure: str = ""
    signal: str = ""
    stopped_at: int | None = None
    checkpoint: str = ""
    step: int | None = None
    first_resumed: int | None = None
    last_resumed: int | None = None
    records: int = 0
    updates: int | None = 0
    checkpoints: tuple[str, ...] = ()
    first: Mapping[str, Any] | None = None
    resumed_s: float | None = None
    whole_s: float | None = None
    stop_args: tuple[str, ...] | None = None
    place: str = ""
    lost: tuple[str, ...] = ()
    counted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedResult:
    """One more run of the same thing under different conditions, compared with the first run.

    Attributes:
        watched: Whether it ran under the watch, which some variations need.
        problem: Why it cannot be compared with the first run, one sentence; "" when it can.
        failure: Why it did not finish, one sentence; "" when it did.
        difference: Where it differs from the first run, to follow "differs"; "" when it is equal.
    """

    path: str
    names: tuple[str, ...]
    watched: bool = False
    problem: str = ""
    failure: str = ""
    records: int = 0
    difference: str = ""

    @property
    def is_equal(self) -> bool:
        return not self.problem and not self.failure and not self.difference and self.records > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VariedEvidence:
    """Varied runs; why there is nothing to vary (``held``), or why it could not be (``unmade``), by name."""

    runs: tuple[VariedResult, ...]
    held: Mapping[str, str] = field(default_factory=dict)
    unmade: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SameUnderResult:
    """A run with something that must not matter, compared with the first run.

    Attributes:
        claim: What it was made for, in words.
        path: Its folder.
        problem: Why it cannot be compared with the first run, one sentence; "" when it can.
        failure: Why it did not finish, one sentence; "" when it did.
        difference: Where it differs from the first run, to follow "differs"; "" when it is equal.
        rounding: Of a claim that allows rounding, where it differs: the answer and the runs that show it.
    """

    claim: str
    path: str
    problem: str = ""
    failure: str = ""
    records: int = 0
    difference: str = ""
    rounding: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything a check may look at.

    Attributes:
        recipe: The validated recipe as plain data, or None for a plain command.
        modified: Overrides (``--set``) that were applied, as ``path=value``.
        repeats: Comparisons of the first run with each later one, at 0/0.
        trace_repeats: The same of their traces; empty when no run has a trace.
        seed: The seed that was asked for, or None when no one asked for one (the runs' own must
            agree then).
        seed_response: Whether the metrics respond to the seed; None where no one looked.
        golden: None when there is none for this recipe, platform and seed.
        reference_run: The run that these repeat, which stands in the golden's place; None else.
        golden_missing_because: Why there is none, one sentence.
        ensemble_not_asked: Where there is no golden and the ensemble was not asked: its folder; "" else.
        ignored_metrics: Name → pattern, for metrics left out on request.
        volatile_idle: Pattern under ``volatile`` that matches no metric of any run → the nearest names.
        printed_idle: Patterns under ``printed`` that fit no line of any run.
        outputs: Patterns of output files that count; None where the runs do not record it.
        outputs_differing: Output file that differs between the runs and was not compared → what became of it.
        printed_failures: Log that ends with an error, of a run with exit code 0 → the error.
        left_in_tree: What earlier runs left in the tree that later ones began in: path → what became of it.
        tree_unknown: Why that is not known, a clause; "" where it is.
        clock_metrics: Name → ``rate``, ``duration`` or ``time stamp``, where the runs differ in nothing but
            metrics of the wall clock.
        locked: Package → version, as the lock of the runs' environment holds them for this
            platform; None when that very lock is not at hand any more.
        ensemble: The ensemble that was asked, where equality did not decide; None where none was asked.
        missing_extras: Row → what is not installed that it needs, and the line that installs it.
        options: Words that a suggested command repeats: the folders that are not the default ones.
        extensions: The extensions that were loaded when the runs were made, or are now.
        extension_missing: That one which the golden names is not loaded, one sentence; "" where all are.
        stress: How often disturbed runs differ; None where there are none, or they cannot be compared.
    """

    recipe: Mapping[str, Any] | None
    modified: tuple[str, ...] = ()
    platform: str
    runs: tuple[RunEvidence, ...]
    repeats: tuple[Comparison, ...] = ()
    trace_repeats: tuple[TraceComparison, ...] = ()
    seed: int | None = None
    rerun: str = ""
    golden: GoldenEvidence | None = None
    reference_run: ReferenceRun | None = None
    golden_missing_because: str = ""
    ensemble_not_asked: str = ""
    ignored_metrics: Mapping[str, str] = field(default_factory=dict)
    clock_metrics: Mapping[str, str] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    volatile_metrics: Mapping[str, str] = field(default_factory=dict)
    volatile_idle: Mapping[str, str] = field(default_factory=dict)
    printed_idle: tuple[str, ...] = ()
    outputs: tuple[str, ...] | None = None
    outputs_differing: Mapping[str, str] = field(default_factory=dict)
    printed_failures: Mapping[str, str] = field(default_factory=dict)
    left_in_tree: Mapping[str, str] = field(default_factory=dict)
    tree_unknown: str = ""
    locked: Mapping[str, str] | None = None
    sweep: SweepEvidence | None = None
    resume: ResumeEvidence | None = None
    resume_places: tuple[ResumeEvidence, ...] = ()
    varied: VariedEvidence | None = None
    same_under: tuple[SameUnderResult, ...] | None = None
    seed_response: SeedResponse | None = None
    ensemble: EnsembleEvidence | None = None
    strict: bool = False
    missing_extras: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    extensions: tuple[ReportedExtension, ...] = ()
    extension_missing: str = ""
    stress: StressEvidence | None = None

    @property
    def is_stressed(self) -> bool:
        """Whether a run was disturbed on purpose, so that nothing can be passed."""
        return any(run.run.stressed is not None for run in self.runs)

    @property
    def stopped_at_golden(self) -> bool:
        """Whether a run was stopped because it differs from the golden, so that nothing can be passed."""
        return any(run.stopped_at_golden for run in self.runs)


def fact(record: object, path: str) -> Any:
    """The value at a dotted path of nested mappings, or None where any part of it is missing.

    >>> fact({"image": {"kind": "venv"}}, "image.kind")
    'venv'
    """
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number: not a bool, not a string of digits, not 42.0."""
    return isinstance(value, int) and not isinstance(value, bool)


def problems_of_runs(evidence: Evidence, find: Callable[[RunEvidence], str | None]) -> tuple[str, ...]:
    """The run's folder and what ``find`` says about it, for each run about which it says something."""
    if not evidence.runs:
        return ("there is no run to look at",)
    found = ((run.path, find(run)) for run in evidence.runs)
    return tuple(f"{path}: {problem}" for path, problem in found if problem)
