"""What each verdict says, and what to type next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reprokit.core.checklist import Evidence, GoldenEvidence, Judgement, RunEvidence, Verdict
from reprokit.core.comparison import Divergence, compare_records
from reprokit.harness.sentences import Case, next_command, sentence

FOLDERS = (Path("runs/r/T-1"), Path("runs/r/T-2"))
GOLDEN = "golden/r/cpu-x86_64/seed-42"
ROW = [{"step": 10, "loss": 1.0}]


def run(folder: Path) -> RunEvidence:
    return RunEvidence(
        path=str(folder),
        complete=True,
        incomplete_because="",
        run={},
        environment={},
        runtime={},
        config=None,
    )


def golden(**words) -> GoldenEvidence:
    return GoldenEvidence(
        **{
            "path": GOLDEN, "provenance": {}, "comparison": compare_records(ROW, ROW),
            "fingerprint_equal": True, **words,
        }
    )  # fmt: skip


EVIDENCE = Evidence(recipe={"name": "r"}, platform="cpu-x86_64", runs=tuple(map(run, FOLDERS)))
HERE = compare_records(ROW, [{"step": 10, "loss": 2.0}]).divergence


def case(verdict: Verdict, **words) -> Case:
    return Case(
        **{
            "judged": Judgement(verdict=verdict, because="the reason"), "evidence": EVIDENCE,
            "divergence": None, "failure": None, "folders": FOLDERS, **words,
        }
    )  # fmt: skip


def with_golden(**words) -> Evidence:
    return replace(EVIDENCE, golden=golden(**words))


SAID = [
    pytest.param(
        case(Verdict.REPRODUCED, evidence=with_golden()),
        "2 runs agree with each other and with the golden, bit for bit.",
        "",
        id="reproduced",
    ),
    pytest.param(
        case(
            Verdict.REPRODUCED,
            evidence=with_golden(comparison=compare_records(ROW, [{"step": 10, "loss": 2.0}])),
        ),
        "2 runs agree bit for bit, and with the golden within the recipe's tolerance.",
        "",
        id="reproduced within tolerance",
    ),
    pytest.param(case(Verdict.REPEATABLE), "2 runs agree with each other, bit for bit.", "", id="repeatable"),
    pytest.param(
        case(Verdict.NONDETERMINISTIC, divergence=HERE),
        "Two runs with the same seed differ from step 10 (record 0, metric loss) on.",
        "reprokit diff runs/r/T-1 runs/r/T-2",
        id="nondeterministic",
    ),
    pytest.param(
        case(Verdict.NONDETERMINISTIC),
        "The reason.",
        "reprokit diff runs/r/T-1 runs/r/T-2",
        id="nondeterministic in the trace only",
    ),
    pytest.param(
        case(Verdict.REGRESSION, divergence=HERE, evidence=with_golden(changed=("trainer", "config"))),
        "Same numerics as the golden, other numbers from step 10 (record 0, metric loss) on; "
        "changed since then: trainer, config.",
        f"reprokit diff {GOLDEN} runs/r/T-1",
        id="regression",
    ),
    pytest.param(
        case(Verdict.REGRESSION, divergence=HERE, evidence=with_golden()),
        "Same numerics as the golden, other numbers from step 10 (record 0, metric loss) on; "
        "nothing of the recipe has changed since then.",
        f"reprokit diff {GOLDEN} runs/r/T-1",
        id="regression out of nowhere",
    ),
    pytest.param(
        case(
            Verdict.STALE_GOLDEN,
            divergence=HERE,
            evidence=with_golden(
                environment_diff=[
                    {"field": "inside.packages.torch", "expected": "2.12", "actual": "2.13"},
                    {"field": "x", "expected": 1, "actual": 2},
                ]
            ),
        ),
        "2 runs agree, but differ from the golden from step 10 (record 0, metric loss) on, in another "
        "environment: inside.packages.torch was 2.12, is 2.13.",
        f"reprokit env diff {GOLDEN} runs/r/T-1",
        id="stale golden",
    ),
    pytest.param(
        case(Verdict.STALE_GOLDEN, divergence=HERE, evidence=with_golden()),
        "2 runs agree, but differ from the golden from step 10 (record 0, metric loss) on, in another "
        "environment: the recorded environments do not say how.",
        f"reprokit env diff {GOLDEN} runs/r/T-1",
        id="stale golden without a difference",
    ),
    pytest.param(
        case(Verdict.NO_GOLDEN),
        "2 runs agree, but the reason.",
        "reprokit golden promote runs/r/T-1 runs/r/T-2 --reason 'first golden'",
        id="no golden",
    ),
    pytest.param(
        case(Verdict.CHECK_FAILED),
        "The numbers are not the problem: the reason.",
        "reprokit report show runs/r/T-1 runs/r/T-2",
        id="check failed",
    ),
    pytest.param(
        case(Verdict.UNJUDGED),
        "There is not enough evidence for a verdict: the reason.",
        "reprokit report show runs/r/T-1 runs/r/T-2",
        id="unjudged",
    ),
    pytest.param(
        case(Verdict.NOT_RUN, failure={"message": "it crashed"}),
        "A run did not finish: it crashed.",
        "reprokit doctor",
        id="not run",
    ),
    pytest.param(
        case(Verdict.NOT_RUN), "A run did not finish: the reason.", "reprokit doctor", id="not run at all"
    ),
]


@pytest.mark.parametrize(("told", "words", "command"), SAID)
def test_a_verdict_says_this_and_this_comes_next(told, words, command):
    assert sentence(told) == words
    assert next_command(told) == command


def test_every_verdict_is_among_them():
    assert {one.values[0].judged.verdict for one in SAID} == set(Verdict)


def test_a_divergence_of_whole_records_names_no_metric():
    whole = Divergence(
        record=3, step=40, metric=None, expected=None, actual=None, abs_error=None, rel_error=None, ulps=None,
        what="a record is missing",
    )  # fmt: skip
    assert "from step 40 (record 3) on" in sentence(case(Verdict.NONDETERMINISTIC, divergence=whole))
