"""Which verdict each kind of fault must lead to, in each place that it can be in: one table.

Exit codes stand here too, not asked of the judge: one that ends everything in 0 would agree with itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from reprokit.features.selftest import mutations as m
from reprokit.features.selftest.beside import RESUMED, STOPPED, VARIED
from reprokit.features.selftest.faults import (
    Plant,
    environments,
    folders,
    numbers,
    reports,
    together,
    tolerances,
)
from reprokit.layout import MARKER, METRICS, PROVENANCE, RECORD, TRACE

#: Where a fault is: in one run, in both alike, in the golden; ``report`` for a report of them all. Next to
#: these, in a run made of the first one: VARIED, STOPPED, RESUMED.
RUN_1, RUN_2, BOTH, GOLDEN, REPORT = "run-1", "run-2", "both", "golden", "report"

#: Outcomes that are no verdict: an error that refuses the files; a report that stands, or does not.
REFUSED, STANDS, FALLS = "REFUSED", "STANDS", "FALLS"

EXIT_CODES: Mapping[str, int] = {
    "REPRODUCED": 0,
    "NONDETERMINISTIC": 1,
    "REGRESSION": 1,
    "CHECK_FAILED": 1,
    REFUSED: 2,
    "NOT_RUN": 3,
    "STALE_GOLDEN": 4,
    "NO_GOLDEN": 4,
    "UNJUDGED": 4,
    STANDS: 0,
    FALLS: 1,
}


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault.

    Attributes:
        sealed: Place → the outcome it must lead to once everything is sealed again, so that only
            the comparison can find it.
        unsealed: The same where nothing is sealed again, so that only the integrity check can.
        noted: Places at which the report must also name what differs in the environment.
    """

    id: str
    title: str
    plant: Plant
    _: KW_ONLY
    sealed: Mapping[str, str] = field(default_factory=dict)
    unsealed: Mapping[str, str] = field(default_factory=dict)
    noted: frozenset[str] = frozenset()


def _everywhere(one: str, *, both: str | None = None, golden: str) -> dict[str, str]:
    return {RUN_1: one, RUN_2: one, BOTH: both or one, GOLDEN: golden}


def _runs(outcome: str) -> dict[str, str]:
    return {RUN_1: outcome, RUN_2: outcome, BOTH: outcome}


_DIFFERS = _everywhere("NONDETERMINISTIC", both="REGRESSION", golden="REGRESSION")
_UNREADABLE = _everywhere("UNJUDGED", golden="UNJUDGED")
_TOUCHED = _everywhere("NOT_RUN", golden=REFUSED)
_SAME = _everywhere("REPRODUCED", golden="REPRODUCED")
_NAMELESS = {RUN_1: REFUSED, RUN_2: "NOT_RUN", BOTH: REFUSED}  # the first run says what was run
_NOTED = frozenset({RUN_1, BOTH, GOLDEN})


def _folder(name: str, title: str, plant: Plant, outcome: str = "") -> FaultKind:
    """A fault in a run's folder, where COMPLETE shows it; ``outcome``: once everything is sealed again."""
    return FaultKind(name, title, plant, sealed=_runs(outcome) if outcome else {}, unsealed=_runs("NOT_RUN"))


def _number(name: str, title: str, plant: Plant) -> FaultKind:
    return FaultKind(name, title, plant, sealed=_DIFFERS, unsealed=_TOUCHED)


def _torn(name: str, title: str, mutate: m.OnBytes) -> FaultKind:
    return FaultKind(name, title, numbers.of_bytes(mutate), sealed=_UNREADABLE, unsealed=_TOUCHED)


_of, _value = numbers.of_records, m.number

_METRICS = (
    _number("flipped-bit", "one flipped bit in a float", _of(_value(m.flipped_bit))),
    _number("one-ulp", "a float off by 1 ULP", _of(_value(m.one_ulp))),
    _number("negative-zero", "-0.0 in the place of a value", _of(_value(m.negative_zero))),
    _number("sign-of-zero", "the sign of a zero", numbers.sign_of_zero),
    _number("opposite-sign", "the sign of a value", _of(_value(m.opposite_sign))),
    _number("nan", "NaN in the place of a value", _of(_value(m.nan))),
    _number("infinity", "an infinity in the place of a value", _of(_value(m.infinity))),
    _number("rounded", "all floats rounded", _of(m.rounded)),
    _number("another-type", "text, null or true in the place of a number", _of(m.another_type)),
    _number("another-step", "a step off by one", _of(m.another_step)),
    _number("dropped-record", "a dropped record", _of(m.drop_record)),
    _number("doubled-record", "a doubled record", _of(m.double_record)),
    _number("swapped-records", "two swapped records", _of(m.swap_records)),
    _number("shifted-metric", "a metric shifted by one record", _of(m.shift_metric)),
    _number("swapped-metrics", "two swapped metrics", _of(m.swap_metrics)),
    _number("dropped-metric", "a dropped metric", _of(m.drop_metric)),
    _number("renamed-metric", "a renamed metric", _of(m.rename_metric)),
    _number("extra-metric", "one extra metric", _of(m.extra_metric)),
    _number("cut-at-line-end", "a file cut at the end of a line", numbers.of_bytes(m.cut_at_a_line_end)),
    _number("another-seeds-file", "the metrics of another seed", numbers.another_seeds_metrics),
    _torn("cut-in-line", "a file cut within a line", m.cut_in_a_line),
    _torn("cut-in-number", "a file cut within a number", m.cut_in_a_number),
    _torn("emptied", "an empty file", m.emptied),
    FaultKind(
        "cut-newline",
        "a file without its last newline",
        numbers.of_bytes(m.cut_before_the_newline),
        sealed=_everywhere("CHECK_FAILED", golden="REPRODUCED"),
        unsealed=_TOUCHED,
    ),
)

_TRACES = (
    FaultKind(
        "flipped-digest",
        "a digit of a digest of parameters or random states",
        numbers.flipped_digest,
        sealed=_everywhere("NONDETERMINISTIC", both="CHECK_FAILED", golden="CHECK_FAILED"),
        unsealed=_TOUCHED,
    ),
    FaultKind(
        "no-trace",
        "no trace",
        folders.without(TRACE),
        sealed={RUN_1: "NONDETERMINISTIC", RUN_2: "NONDETERMINISTIC", BOTH: "CHECK_FAILED"},
        unsealed=_TOUCHED,
    ),
)

_GOLDENS = (
    FaultKind(
        "older-golden",
        "an older golden, same numerics",
        numbers.older_golden,
        sealed={GOLDEN: "REGRESSION"},
        unsealed={GOLDEN: REFUSED},
    ),
    FaultKind(
        "older-golden-elsewhere",
        "an older golden, other numerics",
        together(numbers.older_golden, environments.other_numerics),
        sealed={GOLDEN: "STALE_GOLDEN"},
    ),
    FaultKind("no-golden", "no golden", folders.no_golden, unsealed={GOLDEN: "NO_GOLDEN"}),
    FaultKind(
        "no-golden-metrics", "a golden without metrics", folders.without(METRICS), sealed={GOLDEN: REFUSED}
    ),
    FaultKind(
        "other-provenance",
        "the golden of another recipe, platform or seed",
        folders.other_provenance,
        unsealed={GOLDEN: REFUSED},
    ),
    FaultKind(
        "other-digest",
        "another digest of the golden's own files",
        folders.other_digest,
        unsealed={GOLDEN: REFUSED},
    ),
    FaultKind(
        "no-fingerprint",
        "a golden without a numerics fingerprint",
        folders.no_fingerprint,
        sealed={GOLDEN: "UNJUDGED"},
    ),
    FaultKind(
        "cut-provenance", "a provenance cut short", folders.cut_short(PROVENANCE), unsealed={GOLDEN: REFUSED}
    ),
)

_TOLERANCES = (
    FaultKind(
        "beyond-tolerance",
        "a difference beyond the declared tolerance",
        tolerances.beyond_tolerance,
        sealed=_DIFFERS,
    ),
    FaultKind(
        "lopsided-tolerance",
        "a difference that is relative to the wrong side",
        tolerances.lopsided_tolerance,
        sealed=_DIFFERS,
    ),
    FaultKind(
        "too-wide-tolerance",
        "a tolerance typed ten times too wide in the recipe",
        tolerances.too_wide_tolerance,
        sealed=_DIFFERS,
    ),
)

_ENVIRONMENTS = (
    FaultKind(
        "other-numerics",
        "another environment and different numbers",
        together(environments.other_numerics, _of(_value(m.flipped_bit))),
        sealed={BOTH: "STALE_GOLDEN", GOLDEN: "STALE_GOLDEN"},
        noted=_NOTED,
    ),
    FaultKind(
        "another-machine",
        "another machine that computes alike, and different numbers",
        together(environments.another_machine, _of(_value(m.flipped_bit))),
        sealed={BOTH: "REGRESSION", GOLDEN: "REGRESSION"},
        noted=_NOTED,
    ),
    FaultKind(
        "another-platform",
        "an environment record of another platform",
        environments.another_architecture,
        sealed={RUN_1: "NO_GOLDEN", BOTH: "NO_GOLDEN"},
        unsealed=_runs("NOT_RUN"),
    ),
    _folder(
        "missing-fact",
        "an environment record without a required fact",
        environments.missing_fact,
        "CHECK_FAILED",
    ),
)

_FOLDERS = (
    _folder(
        "checkpoint", "a checkpoint with one flipped bit", folders.flipped_bit(listed=False), "CHECK_FAILED"
    ),
    _folder(
        "listed-checkpoint",
        "the same, with a manifest that agrees",
        folders.flipped_bit(listed=True),
        "CHECK_FAILED",
    ),
    _folder(
        "no-checkpoint", "a promised checkpoint that is not there", folders.without_checkpoint, "CHECK_FAILED"
    ),
    _folder(
        "unseeded-generator", "a generator that no one seeded", folders.unseeded_generator, "CHECK_FAILED"
    ),
    _folder("no-marker", "a run without COMPLETE", folders.without(MARKER)),
    _folder("cut-marker", "a COMPLETE cut short", folders.cut_short(MARKER)),
    _folder("missing-file", "a run folder with a file less", folders.without_any),
    FaultKind(
        "missing-source",
        "a run folder without its recipe or trainer",
        folders.without_source,
        unsealed=_NAMELESS,
    ),
    _folder("added-file", "a run folder with a file more", folders.added),
    _folder("no-metrics", "a run without metrics", folders.without(METRICS), "UNJUDGED"),
    _folder(
        "failed-run",
        "a run that did not end well",
        folders.other_record({"outcome": "crashed", "exit_code": 1}),
        "NOT_RUN",
    ),
    FaultKind(
        "stopped-run",
        "a run that was stopped at the golden, but does not differ from it",
        folders.said_to_be_stopped,
        unsealed=_runs("UNJUDGED"),
    ),
    FaultKind(
        "cut-record", "a run.json cut short", folders.cut_short(RECORD), sealed=_NAMELESS, unsealed=_NAMELESS
    ),
    _folder(
        "silent-record", "a run.json that does not say what was overridden", folders.silent_record, "UNJUDGED"
    ),
    FaultKind(
        "modified-run",
        "a run with other settings",
        folders.other_config,
        sealed={RUN_1: "UNJUDGED", RUN_2: "UNJUDGED", BOTH: "CHECK_FAILED"},
        unsealed=_runs("NOT_RUN"),
    ),
    FaultKind(
        "another-seeds-run",
        "the run of another seed",
        folders.another_seed,
        sealed={RUN_1: "UNJUDGED", RUN_2: "UNJUDGED", BOTH: "NO_GOLDEN"},
        unsealed=_runs("NOT_RUN"),
    ),
    FaultKind(
        "another-program",
        "the run of another program",
        folders.another_program,
        sealed={RUN_1: "UNJUDGED", RUN_2: "UNJUDGED", BOTH: "REPRODUCED"},
        unsealed=_runs("NOT_RUN"),
    ),
    FaultKind("one-run-twice", "one run, given twice", folders.one_run_twice, sealed={RUN_2: "UNJUDGED"}),
)

_BESIDE = (
    FaultKind(
        "varied-run",
        "another number in a run under different conditions",
        _of(_value(m.one_ulp)),
        sealed={VARIED: "CHECK_FAILED"},
        unsealed={VARIED: "CHECK_FAILED"},
    ),
    FaultKind(
        "nothing-varied",
        "a varied run in which nothing was varied",
        folders.other_record({"varied": {"names": [], "watched": False, "held": {}, "unmade": {}}}),
        sealed={VARIED: "UNJUDGED"},
    ),
    FaultKind(
        "crashed-when-varied",
        "a run that does not come to its end under different conditions",
        folders.without(MARKER),
        unsealed={VARIED: "CHECK_FAILED"},
    ),
    FaultKind(
        "resumed-run",
        "another number in a resumed run",
        _of(_value(m.one_ulp)),
        sealed={RESUMED: "CHECK_FAILED"},
        unsealed={RESUMED: "CHECK_FAILED"},
    ),
    FaultKind(
        "resumed-checkpoint",
        "a flipped bit in a checkpoint of a resumed run",
        folders.flipped_bit(listed=True),
        sealed={RESUMED: "CHECK_FAILED"},
        unsealed={RESUMED: "CHECK_FAILED"},
    ),
    FaultKind(
        "resumed-from-the-start",
        "a resumed run that did all steps again",
        folders.from_the_start,
        sealed={RESUMED: "CHECK_FAILED"},
    ),
    FaultKind(
        "another-start",
        "a run that continued from a different checkpoint than the stopped one's",
        folders.another_start,
        sealed={RESUMED: "UNJUDGED"},
    ),
    FaultKind(
        "never-killed",
        "a run that was to be killed and was not",
        folders.other_record({"signal": None, "outcome": "completed", "exit_code": 0}),
        unsealed={STOPPED: "UNJUDGED"},
    ),
)

_REPORTS = (
    FaultKind("cut-report", "a report cut short", reports.cut_report, unsealed={REPORT: REFUSED}),
    FaultKind(
        "forged-report", "a report that says something else", reports.says_otherwise, unsealed={REPORT: FALLS}
    ),
    FaultKind(
        "evidence-touched",
        "a report whose evidence was touched",
        numbers.of_first_run(m.number(m.one_ulp)),
        unsealed={REPORT: FALLS},
    ),
)

#: What must change nothing: a judge that calls everything broken is found here.
_HARMLESS = (
    FaultKind(
        "another-machine-equal",
        "another machine, equal numbers",
        environments.another_machine,
        sealed=_SAME,
        noted=_NOTED,
    ),
    FaultKind(
        "other-numerics-equal",
        "another environment, equal numbers",
        environments.other_numerics,
        sealed=_SAME,
        noted=_NOTED,
    ),
    FaultKind(
        "within-tolerance",
        "a difference within the declared tolerance",
        tolerances.within_tolerance,
        sealed={**_DIFFERS, BOTH: "REPRODUCED", GOLDEN: "REPRODUCED"},
    ),
    FaultKind(
        "another-order", "the names of every record in another order", _of(m.another_order), sealed=_SAME
    ),
    FaultKind("white-space", "other white space", numbers.of_bytes(m.more_white_space), sealed=_SAME),
    FaultKind(
        "same-nonfinite",
        "the same NaN or infinity everywhere",
        numbers.same_nonfinite,
        sealed={BOTH: "REPRODUCED"},
    ),
    FaultKind("untouched-report", "a report as it was drawn", reports.untouched, unsealed={REPORT: STANDS}),
    FaultKind(
        "equal-beside",
        "a varied or resumed run with equal numbers",
        folders.untouched,
        sealed={VARIED: "REPRODUCED", RESUMED: "REPRODUCED"},
    ),
)

KINDS: tuple[FaultKind, ...] = (
    *_METRICS,
    *_TRACES,
    *_GOLDENS,
    *_TOLERANCES,
    *_ENVIRONMENTS,
    *_FOLDERS,
    *_BESIDE,
    *_REPORTS,
    *_HARMLESS,
)
