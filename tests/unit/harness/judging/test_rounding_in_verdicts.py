"""Verdicts on other CPUs: the operation that rounds differently is named, another platform never blamed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.capture import environment_diff
from reprokit.core.checklist import Evidence, GoldenEvidence, Judgement, RunEvidence, Verdict
from reprokit.core.comparison import compare_records
from reprokit.core.provenance import Provenance
from reprokit.core.run_record import RunRecord
from reprokit.harness import Request, judge_again
from reprokit.harness.judging.wording import VerdictCase, sentence


def environment(**digests):
    probe = {"version": 1, "device": "cpu", "digests": {"torch.exp": "a", "torch.sqrt": "b", **digests}}
    return {"inside": {"numerics": {"profile": "portable", "version": 1, "probe": probe}}}


BEFORE_PROBES = {"inside": {"numerics": {"profile": "portable", "version": 1}}}
TORCH = {"field": "inside.packages.torch", "expected": "2.12", "actual": "2.13", "can_change_numbers": "yes"}


def case(verdict, *, then, now, rows=()):
    folder = Path("runs/r/T-1")
    run = RunEvidence(
        path=str(folder),
        complete=True,
        incomplete_because="",
        run=RunRecord(),
        environment=now,
        runtime={},
        config=None,
    )
    golden = GoldenEvidence(
        path="golden/r/cpu-x86_64/seed-42",
        provenance=Provenance(environment=then or {}),
        comparison=compare_records([{"step": 1, "loss": 1.0}], [{"step": 1, "loss": 2.0}]),
        fingerprint_equal=not rows,
        environment_diff=rows,
    )
    evidence = Evidence(recipe={"name": "r"}, platform="cpu-x86_64", runs=(run, run), golden=golden)
    return VerdictCase(
        judged=Judgement(verdict=verdict, because="the reason"),
        evidence=evidence,
        divergence=golden.comparison.divergence,
        failure=None,
        folders=(folder, folder),
    )


def test_a_stale_golden_says_which_operation_rounds_differently_on_this_cpu():
    now = environment(**{"torch.exp": "c"})
    told = sentence(case(Verdict.STALE_GOLDEN, then=environment(), now=now, rows=(TORCH,)))

    assert told.endswith("; here `torch.exp` rounds differently.")
    assert "package torch 2.12 → 2.13" in told


@pytest.mark.parametrize("modified", [(), ("training.gamma=0.9",)])
def test_a_regression_names_no_cause_that_its_own_table_rules_out(modified):
    """Its environment computes the same: no field that cannot change numbers stands in the sentence."""
    then, now = environment(), environment(**{"torch.sqrt": "c"})
    now["host"] = {"kernel": "6.5"}
    rows = environment_diff.diff(then, now)
    assert rows
    assert {row["can_change_numbers"] for row in rows} == {"no"}
    judged = case(Verdict.REGRESSION, then=then, now=now, rows=rows)
    told = sentence(replace(judged, evidence=replace(judged.evidence, modified=modified)))
    assert not [row["field"] for row in rows if row["field"].rpartition("digests.")[2] in told]
    assert "rounds" not in told


@pytest.mark.parametrize("then", [environment(), BEFORE_PROBES, None])
@pytest.mark.parametrize("verdict", [Verdict.STALE_GOLDEN, Verdict.REGRESSION])
def test_nothing_is_said_where_all_round_alike_or_the_golden_holds_no_probe(verdict, then):
    told = sentence(case(verdict, then=then, now=environment(), rows=(TORCH,)))

    assert "rounds differently" not in told


@pytest.fixture
def elsewhere(programs):
    """A training whose record is of another CPU, and whose numbers are others."""

    def make(**cpu):
        train = programs["training"](loss=lambda step: 2 / step)

        def program(spec, output, on_tick):
            train(spec, output, on_tick)
            record = json.loads((output / "environment.json").read_text())
            (output / "environment.json").write_text(json.dumps({**record, "cpu": cpu}))

        return program

    return make


@pytest.mark.parametrize(
    ("cpu", "platform"),
    [
        ({"architecture": "aarch64"}, "cpu-aarch64"),
        ({"architecture": "x86_64", "avx2": False}, "cpu-x86_64-noavx2"),
    ],
)
def test_other_numbers_on_another_platform_are_no_regression(here, make, programs, elsewhere, cpu, platform):
    blessed = make.of_recipe(programs["training"](), programs["training"]())
    assert judge_again(blessed, Request(), project=here).platform == "cpu-x86_64"

    report = judge_again(make.of_recipe(elsewhere(**cpu), elsewhere(**cpu)), Request(), project=here)

    assert report.platform == platform
    assert report.verdict is Verdict.NO_GOLDEN
    assert platform in report.sentence
    assert report.exit_code == 4
