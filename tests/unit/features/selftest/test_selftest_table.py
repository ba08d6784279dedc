"""The table of kinds: whole, without contradictions, and each fault has a name that replays it."""

from __future__ import annotations

import pytest

from reprokit.core.checklist import Verdict, exit_code
from reprokit.features.selftest import judging
from reprokit.features.selftest.judging import PlantedAnswer, fault_of, faults
from reprokit.features.selftest.table import EXIT_CODES, KINDS, REFUSED

EVERY = list(faults(2000))


def test_every_kind_has_a_name_of_its_own_and_somewhere_to_be_planted():
    assert len({kind.id for kind in KINDS}) == len(KINDS) == len({kind.title for kind in KINDS})
    assert all(kind.sealed or kind.unsealed for kind in KINDS)
    assert all(kind.noted <= {*kind.sealed, "run-1", "both", "golden"} for kind in KINDS)


def test_every_outcome_has_an_exit_code_and_those_of_verdicts_are_the_design_s():
    used = {outcome for kind in KINDS for outcome in (*kind.sealed.values(), *kind.unsealed.values())}
    assert used <= set(EXIT_CODES)
    for verdict in Verdict:
        # Of plain commands, which have no golden; and of new seeds, which a selftest does not run.
        if verdict not in {Verdict.REPEATABLE, Verdict.EQUIVALENT}:
            assert EXIT_CODES[verdict] == exit_code(verdict)
            assert verdict in used, f"no kind of fault leads to {verdict}"


def test_a_few_faults_are_of_every_kind_and_many_in_every_place():
    assert {fault.kind.id for fault in list(faults(len(KINDS)))} == {kind.id for kind in KINDS}
    cases = {(fault.kind.id, fault.place, fault.sealed) for fault in EVERY}
    assert len(cases) == sum(len(kind.sealed) + len(kind.unsealed) for kind in KINDS)


def test_an_id_names_its_fault_and_no_other():
    assert len({fault.id for fault in EVERY}) == len(EVERY)
    assert all(fault_of(fault.id) == fault for fault in EVERY)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "flipped-bit",
        "flipped-bit/run-1/sealed",
        "flipped-bit/run-1/sealed/x",
        "flipped-bit/run-9/sealed/0",
        "flipped-bit/run-1/open/0",
        "no-such/run-1/sealed/0",
        "no-golden/golden/sealed/0",
    ],
)
def test_what_no_fault_is_called_names_none(text):
    assert fault_of(text) is None


@pytest.mark.parametrize(
    ("expected", "answer", "because"),
    [
        ("REPRODUCED", PlantedAnswer(outcome="REPRODUCED", exit_code=0), ""),
        ("REGRESSION", PlantedAnswer(outcome="REPRODUCED", exit_code=0), "REPRODUCED instead of REGRESSION"),
        ("REGRESSION", PlantedAnswer(outcome="REGRESSION", exit_code=0), "exit code 0 instead of 1"),
        (REFUSED, PlantedAnswer(outcome=judging.BROKE, exit_code=3), "BROKE instead of REFUSED"),
    ],
)
def test_an_answer_is_right_only_with_its_exit_code(expected, answer, because):
    found = judging._wrong(expected, answer)
    assert because in found
    assert bool(found) is bool(because)


def test_a_difference_in_the_environment_must_be_named():
    silent = PlantedAnswer(outcome="REPRODUCED", exit_code=0)
    named = PlantedAnswer(outcome="REPRODUCED", exit_code=0, noted=frozenset({"host.kernel"}))
    assert "names nothing" in judging._wrong("REPRODUCED", silent, needs_note=True)
    assert judging._wrong("REPRODUCED", named, needs_note=True) == ""
