"""Which verdict each kind of fault must lead to, in each place that it can be in: one table.

This module is the table and what reads it; it refuses to know how a fault is planted and how the
gate judges. It does not ask the judge for exit codes: a judge that ends everything in 0 would agree
with itself.

    >>> next(kind for kind in KINDS if kind.id == "flipped-bit").outcomes["both"]
    'REGRESSION'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reprokit.harness.selftest import mutations as m
from reprokit.harness.selftest.beside import RESUMED, STOPPED, VARIED
from reprokit.harness.selftest.faults import (
    Plant,
    environments,
    folders,
    numbers,
    reports,
    together,
    tolerances,
)
from reprokit.layout import MARKER, METRICS, PROVENANCE, RECORD, TRACE

#: Where a fault is: in one run, in both alike, in the golden; ``report`` for a report of them all. Beside
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of fault.

    Attributes:
        id: Its name in fault IDs.
        title: What it is, for people.
        plant: Plants one.
        outcomes: Place → the outcome it must lead to once everything is sealed again, so that only
            the comparison can find it.
        unsealed: The same where nothing is sealed again, so that only the integrity check can.
        noted: Places at which the report must also name what differs in the environment.
    """

    id: str
    title: str
    plant: Plant
    outcomes: Mapping[str, str] = field(default_factory=dict)
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


def _number(name: str, title: str, plant: Plant) -> Kind:
    return Kind(id=name, title=title, plant=plant, outcomes=_DIFFERS, unsealed=_TOUCHED)


def _torn(name: str, title: str, mutate: m.OnBytes) -> Kind:
    plant = numbers.of_bytes(mutate)
    return Kind(id=name, title=title, plant=plant, outcomes=_UNREADABLE, unsealed=_TOUCHED)


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
    _number("extra-metric", "one metric more", _of(m.extra_metric)),
    _number("cut-at-line-end", "a file cut at the end of a line", numbers.of_bytes(m.cut_at_a_line_end)),
    _number("another-seeds-file", "the metrics of another seed", numbers.another_seeds_metrics),
    _torn("cut-in-line", "a file cut within a line", m.cut_in_a_line),
    _torn("cut-in-number", "a file cut within a number", m.cut_in_a_number),
    _torn("emptied", "an empty file", m.emptied),
    Kind(
        id="cut-newline",
        title="a file without its last newline",
        plant=numbers.of_bytes(m.cut_before_the_newline),
        outcomes=_everywhere("CHECK_FAILED", golden="REPRODUCED"),
        unsealed=_TOUCHED,
    ),
)

_TRACES = (
    Kind(
        id="flipped-digest",
        title="a digit of a digest of parameters or random states",
        plant=numbers.flipped_digest,
        outcomes=_everywhere("NONDETERMINISTIC", both="CHECK_FAILED", golden="CHECK_FAILED"),
        unsealed=_TOUCHED,
    ),
    Kind(
        id="no-trace",
        title="no trace",
        plant=folders.without(TRACE),
        outcomes={RUN_1: "NONDETERMINISTIC", RUN_2: "NONDETERMINISTIC", BOTH: "CHECK_FAILED"},
        unsealed=_TOUCHED,
    ),
)

_GOLDENS = (
    Kind(
        id="older-golden",
        title="an older golden, same numerics",
        plant=numbers.older_golden,
        outcomes={GOLDEN: "REGRESSION"},
        unsealed={GOLDEN: REFUSED},
    ),
    Kind(
        id="older-golden-elsewhere",
        title="an older golden, other numerics",
        plant=together(numbers.older_golden, environments.other_numerics),
        outcomes={GOLDEN: "STALE_GOLDEN"},
    ),
    Kind(id="no-golden", title="no golden", plant=folders.no_golden, unsealed={GOLDEN: "NO_GOLDEN"}),
    Kind(
        id="no-golden-metrics",
        title="a golden without metrics",
        plant=folders.without(METRICS),
        outcomes={GOLDEN: REFUSED},
    ),
    Kind(
        id="other-provenance",
        title="the golden of another recipe, platform or seed",
        plant=folders.other_provenance,
        unsealed={GOLDEN: REFUSED},
    ),
    Kind(
        id="other-digest",
        title="another digest of the golden's own files",
        plant=folders.other_digest,
        unsealed={GOLDEN: REFUSED},
    ),
    Kind(
        id="no-fingerprint",
        title="a golden without a numerics fingerprint",
        plant=folders.no_fingerprint,
        outcomes={GOLDEN: "UNJUDGED"},
    ),
    Kind(
        id="cut-provenance",
        title="a provenance cut short",
        plant=folders.cut_short(PROVENANCE),
        unsealed={GOLDEN: REFUSED},
    ),
)

_TOLERANCES = (
    Kind(
        id="beyond-tolerance",
        title="a difference beyond the declared tolerance",
        plant=tolerances.beyond_tolerance,
        outcomes=_DIFFERS,
    ),
    Kind(
        id="lopsided-tolerance",
        title="a difference that is relative to the wrong side",
        plant=tolerances.lopsided_tolerance,
        outcomes=_DIFFERS,
    ),
    Kind(
        id="too-wide-tolerance",
        title="a tolerance typed ten times too wide in the recipe",
        plant=tolerances.too_wide_tolerance,
        outcomes=_DIFFERS,
    ),
)

_ENVIRONMENTS = (
    Kind(
        id="other-numerics",
        title="another environment and other numbers",
        plant=together(environments.other_numerics, _of(_value(m.flipped_bit))),
        outcomes={BOTH: "STALE_GOLDEN", GOLDEN: "STALE_GOLDEN"},
        noted=_NOTED,
    ),
    Kind(
        id="another-machine",
        title="another machine that computes alike, and other numbers",
        plant=together(environments.another_machine, _of(_value(m.flipped_bit))),
        outcomes={BOTH: "REGRESSION", GOLDEN: "REGRESSION"},
        noted=_NOTED,
    ),
    Kind(
        id="another-platform",
        title="an environment record of another platform",
        plant=environments.another_architecture,
        outcomes={RUN_1: "NO_GOLDEN", BOTH: "NO_GOLDEN"},
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="missing-fact",
        title="an environment record without a required fact",
        plant=environments.missing_fact,
        outcomes=_runs("CHECK_FAILED"),
        unsealed=_runs("NOT_RUN"),
    ),
)

_FOLDERS = (
    Kind(
        id="checkpoint",
        title="a checkpoint with one flipped bit",
        plant=folders.flipped_bit(listed=False),
        outcomes=_runs("CHECK_FAILED"),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="listed-checkpoint",
        title="the same, with a manifest that agrees",
        plant=folders.flipped_bit(listed=True),
        outcomes=_runs("CHECK_FAILED"),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="no-checkpoint",
        title="a promised checkpoint that is not there",
        plant=folders.without_checkpoint,
        outcomes=_runs("CHECK_FAILED"),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="no-marker",
        title="a run without COMPLETE",
        plant=folders.without(MARKER),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="cut-marker",
        title="a COMPLETE cut short",
        plant=folders.cut_short(MARKER),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="missing-file",
        title="a run folder with a file less",
        plant=folders.without_any,
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="missing-source",
        title="a run folder without its recipe or trainer",
        plant=folders.without_source,
        unsealed=_NAMELESS,
    ),
    Kind(
        id="added-file", title="a run folder with a file more", plant=folders.added, unsealed=_runs("NOT_RUN")
    ),
    Kind(
        id="no-metrics",
        title="a run without metrics",
        plant=folders.without(METRICS),
        outcomes=_runs("UNJUDGED"),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="failed-run",
        title="a run that did not end well",
        plant=folders.other_record({"outcome": "crashed", "exit_code": 1}),
        outcomes=_runs("NOT_RUN"),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="cut-record",
        title="a run.json cut short",
        plant=folders.cut_short(RECORD),
        outcomes=_NAMELESS,
        unsealed=_NAMELESS,
    ),
    Kind(
        id="silent-record",
        title="a run.json that does not say what was overridden",
        plant=folders.silent_record,
        outcomes=_runs("UNJUDGED"),
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="modified-run",
        title="a run with other settings",
        plant=folders.other_config,
        outcomes={RUN_1: "UNJUDGED", RUN_2: "UNJUDGED", BOTH: "CHECK_FAILED"},
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="another-seeds-run",
        title="the run of another seed",
        plant=folders.another_seed,
        outcomes={RUN_1: "UNJUDGED", RUN_2: "UNJUDGED", BOTH: "NO_GOLDEN"},
        unsealed=_runs("NOT_RUN"),
    ),
    Kind(
        id="one-run-twice",
        title="one run, given twice",
        plant=folders.one_run_twice,
        outcomes={RUN_2: "UNJUDGED"},
    ),
)

_BESIDE = (
    Kind(
        id="varied-run",
        title="another number in a run under other surroundings",
        plant=_of(_value(m.one_ulp)),
        outcomes={VARIED: "CHECK_FAILED"},
        unsealed={VARIED: "CHECK_FAILED"},
    ),
    Kind(
        id="nothing-varied",
        title="a varied run in which nothing was varied",
        plant=folders.other_record({"varied": {"names": [], "watched": False, "held": {}, "unmade": {}}}),
        outcomes={VARIED: "UNJUDGED"},
    ),
    Kind(
        id="crashed-when-varied",
        title="a run that does not come to its end under other surroundings",
        plant=folders.without(MARKER),
        unsealed={VARIED: "CHECK_FAILED"},
    ),
    Kind(
        id="resumed-run",
        title="another number in a resumed run",
        plant=_of(_value(m.one_ulp)),
        outcomes={RESUMED: "CHECK_FAILED"},
        unsealed={RESUMED: "CHECK_FAILED"},
    ),
    Kind(
        id="resumed-checkpoint",
        title="a flipped bit in a checkpoint of a resumed run",
        plant=folders.flipped_bit(listed=True),
        outcomes={RESUMED: "CHECK_FAILED"},
        unsealed={RESUMED: "CHECK_FAILED"},
    ),
    Kind(
        id="resumed-from-the-start",
        title="a resumed run that did all steps again",
        plant=folders.from_the_start,
        outcomes={RESUMED: "CHECK_FAILED"},
    ),
    Kind(
        id="another-start",
        title="a run that went on from another checkpoint than the stopped one's",
        plant=folders.another_start,
        outcomes={RESUMED: "UNJUDGED"},
    ),
    Kind(
        id="never-killed",
        title="a run that was to be killed and was not",
        plant=folders.other_record({"signal": None, "outcome": "completed", "exit_code": 0}),
        unsealed={STOPPED: "UNJUDGED"},
    ),
)

_REPORTS = (
    Kind(id="cut-report", title="a report cut short", plant=reports.cut_report, unsealed={REPORT: REFUSED}),
    Kind(
        id="forged-report",
        title="a report that says something else",
        plant=reports.says_otherwise,
        unsealed={REPORT: FALLS},
    ),
    Kind(
        id="evidence-touched",
        title="a report whose evidence was touched",
        plant=numbers.of_first_run(m.number(m.one_ulp)),
        unsealed={REPORT: FALLS},
    ),
)

#: What must change nothing: a judge that calls everything broken is found here.
_HARMLESS = (
    Kind(
        id="another-machine-equal",
        title="another machine, equal numbers",
        outcomes=_SAME,
        noted=_NOTED,
        plant=environments.another_machine,
    ),
    Kind(
        id="other-numerics-equal",
        title="another environment, equal numbers",
        outcomes=_SAME,
        noted=_NOTED,
        plant=environments.other_numerics,
    ),
    Kind(
        id="within-tolerance",
        title="a difference within the declared tolerance",
        outcomes={**_DIFFERS, BOTH: "REPRODUCED", GOLDEN: "REPRODUCED"},
        plant=tolerances.within_tolerance,
    ),
    Kind(
        id="another-order",
        title="the names of every record in another order",
        outcomes=_SAME,
        plant=_of(m.another_order),
    ),
    Kind(
        id="white-space",
        title="other white space",
        outcomes=_SAME,
        plant=numbers.of_bytes(m.more_white_space),
    ),
    Kind(
        id="same-nonfinite",
        title="the same NaN or infinity everywhere",
        outcomes={BOTH: "REPRODUCED"},
        plant=numbers.same_nonfinite,
    ),
    Kind(
        id="untouched-report",
        title="a report as it was drawn",
        plant=reports.untouched,
        unsealed={REPORT: STANDS},
    ),
    Kind(
        id="equal-beside",
        title="a varied or resumed run with equal numbers",
        plant=folders.untouched,
        outcomes={VARIED: "REPRODUCED", RESUMED: "REPRODUCED"},
    ),
)

KINDS: tuple[Kind, ...] = (
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
