"""Judges with one rule broken each: the real one, with one of its parts exchanged.

Each is a function that breaks the judge for as long as the ``monkeypatch`` that it is given lives.
"""

from __future__ import annotations

import importlib
import json
import math
import struct
from dataclasses import replace

from reprokit import adapters, checks, golden, runs, variations
from reprokit.checks import seeded, unchanged_when_varied
from reprokit.core import checklist, fingerprint, json_values
from reprokit.core.checklist import Judgement, Status, TraceComparison, Verdict
from reprokit.core.comparison import compare_records
from reprokit.core.verdicts import agreement
from reprokit.core.verdicts.rows import passed
from reprokit.harness.judging import build_report, gather, varied_evidence
from reprokit.harness.judging.resumed import resume_evidence
from reprokit.recipes import NarrowerTolerances


def _records(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _compares(monkeypatch, change):
    """Compare other records than those of the files, and claim to have compared them all."""
    real = adapters.compare

    def compare(expected, actual, *, tolerances=None):
        whole = real(expected, actual, tolerances=tolerances)
        if not whole.comparable:
            return whole
        found = compare_records(*change(_records(expected), _records(actual)), tolerances=tolerances)
        counts = {"records_compared": whole.records_compared, "metrics_compared": whole.metrics_compared}
        return replace(found, **counts)

    monkeypatch.setattr(adapters, "compare", compare)


def _each_number(change):
    def both(expected, actual):
        return tuple(
            [
                {k: change(v) if isinstance(v, float) and math.isfinite(v) else v for k, v in one.items()}
                for one in side
            ]
            for side in (expected, actual)
        )

    return both


def _takes_for_good(monkeypatch, bad):
    _judges(monkeypatch, lambda verdict, told: Verdict.REPRODUCED if verdict is bad else verdict)


def _judges(monkeypatch, change):
    """Another verdict than the one that follows."""
    real = checklist.judgement

    def judgement(told, rows, *, registry):
        found = real(told, rows, registry=registry)
        return Judgement(verdict=change(found.verdict, told), because=found.because)

    monkeypatch.setattr(build_report, "judgement", judgement)


# What is compared


def ignores_the_second_run(monkeypatch):
    monkeypatch.setattr(
        gather,
        "_compare_runs",
        lambda first, other, recipe, *, ignore: adapters.compare(*[first / "metrics.jsonl"] * 2),
    )


def compares_only_the_last_record(monkeypatch):
    _compares(monkeypatch, lambda expected, actual: (expected[-1:], actual[-1:]))


def compares_only_the_first_record(monkeypatch):
    _compares(monkeypatch, lambda expected, actual: (expected[:1], actual[:1]))


def compares_as_many_records_as_the_shorter_file_has(monkeypatch):
    def shorter(expected, actual):
        count = min(len(expected), len(actual))
        return expected[:count], actual[:count]

    _compares(monkeypatch, shorter)


def compares_only_metrics_that_both_have(monkeypatch):
    def common(expected, actual):
        if len(expected) != len(actual):
            return expected, actual
        shared = [e.keys() & a.keys() for e, a in zip(expected, actual, strict=True)]
        return tuple(
            [{k: v for k, v in one.items() if k in names} for one, names in zip(side, shared, strict=True)]
            for side in (expected, actual)
        )

    _compares(monkeypatch, common)


def sorts_records_by_step(monkeypatch):
    def in_order(records):
        return sorted(records, key=lambda record: record["step"])

    _compares(monkeypatch, lambda expected, actual: (in_order(expected), in_order(actual)))


def ignores_the_order_of_values(monkeypatch):
    """Compares a sum over each metric: what a shift or a swap leaves as it was."""

    def sums(records):
        totals = {}
        for record in records:
            for name, value in record.items():
                if isinstance(value, int | float) and not isinstance(value, bool):
                    totals.setdefault(name, []).append(float(value))
        return [{name: math.fsum(found) for name, found in totals.items()}]

    _compares(monkeypatch, lambda expected, actual: (sums(expected), sums(actual)))


# How numbers are compared


def rounds_to_six_decimals(monkeypatch):
    _compares(monkeypatch, _each_number(lambda value: round(value, 6)))


def compares_in_float32(monkeypatch):
    def narrow(value):
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return value

    _compares(monkeypatch, _each_number(narrow))


def ignores_the_sign_of_zero(monkeypatch):
    _compares(monkeypatch, _each_number(lambda value: value + 0.0))


def ignores_signs(monkeypatch):
    _compares(monkeypatch, _each_number(abs))


def drops_nan(monkeypatch):
    def numbers(expected, actual):
        def is_nan(record, name):
            return isinstance(record.get(name), float) and math.isnan(record[name])

        if len(expected) != len(actual):
            return expected, actual
        kept = [
            [{k: v for k, v in one.items() if not is_nan(e, k) and not is_nan(a, k)} for one in (e, a)]
            for e, a in zip(expected, actual, strict=True)
        ]
        return [e for e, _ in kept], [a for _, a in kept]

    _compares(monkeypatch, numbers)


def never_accepts_nan(monkeypatch):
    real = adapters.compare

    def compare(expected, actual, *, tolerances=None):
        found = real(expected, actual, tolerances=tolerances)
        return (
            replace(found, identical=False, within_tolerance=False)
            if b"NaN" in actual.read_bytes()
            else found
        )

    monkeypatch.setattr(adapters, "compare", compare)


def swaps_the_sides_of_the_tolerance(monkeypatch):
    real = json_values.within
    monkeypatch.setattr(json_values, "within", lambda e, a, *, rtol, atol: real(a, e, rtol=rtol, atol=atol))


def ignores_tolerances(monkeypatch):
    real = json_values.within
    monkeypatch.setattr(json_values, "within", lambda e, a, *, rtol, atol: real(e, a, rtol=0.0, atol=0.0))


def grants_whatever_tolerance_the_recipe_types(monkeypatch):
    monkeypatch.setattr(NarrowerTolerances, "of", lambda self, metric: self.one.of(metric))


# What follows from rows and evidence


def treats_errors_as_passed(monkeypatch):
    real = checks.run_all

    def run_all(told, *, checks=None):
        return tuple(
            replace(row, status=Status.PASSED, remedy="") if row.status is Status.ERROR else row
            for row in real(told, checks=checks)
        )

    monkeypatch.setattr(checks, "run_all", run_all)


def ignores_required_rows(monkeypatch):
    good = Judgement(verdict=Verdict.REPRODUCED, because="all runs agree")
    monkeypatch.setattr(checklist, "_of_rows", lambda told, rows, registry: good)


def takes_a_missing_golden_for_an_equal_one(monkeypatch):
    _judges(
        monkeypatch, lambda verdict, told: Verdict.REPRODUCED if verdict is Verdict.NO_GOLDEN else verdict
    )


def takes_a_stale_golden_for_an_equal_one(monkeypatch):
    _judges(
        monkeypatch, lambda verdict, told: Verdict.REPRODUCED if verdict is Verdict.STALE_GOLDEN else verdict
    )


def takes_what_cannot_be_judged_for_good(monkeypatch):
    _takes_for_good(monkeypatch, Verdict.UNJUDGED)


def calls_every_other_environment_stale(monkeypatch):
    def stale(verdict, told):
        differs = told.golden is not None and told.golden.environment_diff
        return Verdict.STALE_GOLDEN if differs and verdict is Verdict.REPRODUCED else verdict

    _judges(monkeypatch, stale)


def blames_the_environment_for_every_regression(monkeypatch):
    monkeypatch.setattr(fingerprint, "same", lambda expected, actual: False)


def never_blames_the_environment(monkeypatch):
    monkeypatch.setattr(fingerprint, "same", lambda expected, actual: True)


def does_not_name_what_differs_in_the_environment(monkeypatch):
    monkeypatch.setattr(gather.environment_diff, "diff", lambda *_args: [])


def always_exits_with_zero(monkeypatch):
    monkeypatch.setattr(build_report, "exit_code", lambda verdict: 0)


# Whether the evidence is what it was


def ignores_complete(monkeypatch):
    monkeypatch.setattr(runs.reading, "_why_incomplete", lambda *args, **kwargs: "")


def believes_complete_without_reading_the_files(monkeypatch):
    monkeypatch.setattr(runs.reading, "_changed", lambda path, listed: False)


def ignores_files_that_were_added(monkeypatch):
    real = runs.reading._touched

    def touched(*arguments, **options):
        return (found for found in real(*arguments, **options) if "was added" not in found[1])

    monkeypatch.setattr(runs.reading, "_touched", touched)


def ignores_digests_of_checkpoints(monkeypatch):
    real = gather._checkpoints

    def checkpoints(folder):
        return {name: {**entry, "sha256_ok": True, "loadable": True} for name, entry in real(folder).items()}

    monkeypatch.setattr(gather, "_checkpoints", checkpoints)


def ignores_traces(monkeypatch):
    monkeypatch.setattr(
        gather,
        "compare_traces",
        lambda expected, actual, thinned=False: TraceComparison(
            equal=True, records_compared=gather.count_records(actual)
        ),
    )


def ignores_digests_of_the_golden(monkeypatch):
    monkeypatch.setattr(golden.folder, "_must_be_promoted", lambda file, digest: None)


def takes_a_stopped_run_for_a_finished_one(monkeypatch):
    real = runs.read

    def read(folder, *, verify=True):
        stored = real(folder, verify=verify)
        stopped = stored.record.outcome == "stopped_at_golden"
        return replace(stored, complete=True, incomplete_because="") if stopped else stored

    monkeypatch.setattr(runs, "read", read)
    monkeypatch.setattr(runs, "stopped_at_golden", lambda stored: False)
    monkeypatch.setattr(agreement, "_unfinished", lambda run: None)


def takes_one_run_for_two(monkeypatch):
    monkeypatch.setattr(agreement, "_copied", lambda told: None)


def compares_runs_of_different_things(monkeypatch):
    for module in (agreement, resume_evidence, varied_evidence):
        monkeypatch.setattr(module, "why_not_comparable", lambda first, other, *, question: None)


def passes_seeded_although_a_generator_is_unseeded(monkeypatch):
    monkeypatch.setattr(seeded, "check", lambda told: passed("every generator has a seed"))


def takes_every_varied_run_for_equal(monkeypatch):
    monkeypatch.setattr(varied_evidence, "compared", lambda first, other: (1, ""))


def does_not_ask_what_was_varied(monkeypatch):
    held = dict.fromkeys(variations.names(), "nothing")
    real = unchanged_when_varied.check
    monkeypatch.setattr(
        unchanged_when_varied,
        "check",
        lambda evidence: real(
            evidence
            if evidence.varied is None
            else replace(evidence, varied=replace(evidence.varied, held=held))
        ),
    )


def never_looks_at_resumed_numbers(monkeypatch):
    monkeypatch.setattr(resume_evidence, "_joined", lambda three, name: (1, None))


def never_looks_at_resumed_checkpoints(monkeypatch):
    monkeypatch.setattr(resume_evidence, "_later_checkpoints", lambda three: (("final_model.pt",), None))


def believes_that_a_run_was_resumed(monkeypatch):
    monkeypatch.setattr(resume_evidence, "_not_chained", lambda stopped, point: None)


def believes_reports(monkeypatch):
    audit = importlib.import_module("reprokit.harness.audit")  # the package has a function of that name
    for part in ("_exchanged", "_touched", "_redrawn", "_judged_again"):
        monkeypatch.setattr(audit, part, lambda *args: ())


BROKEN = [
    value
    for name, value in list(globals().items())
    if callable(value) and getattr(value, "__module__", "") == __name__ and not name.startswith("_")
]
