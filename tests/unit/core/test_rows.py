"""Rows: what a check can find, and which rows a recipe waives or requires."""

import pytest

from reprokit.core.verdicts.rows import (
    VERDICT_ROWS,
    Finding,
    Status,
    failed,
    not_applicable,
    passed,
    relaxations,
    requirements,
    skipped,
    unjudged,
)


def relaxing(*entries):
    return {"checks": {"relax": list(entries)}}


@pytest.mark.parametrize(
    ("make", "status", "applies"),
    [
        (failed, Status.FAILED, True),
        (skipped, Status.SKIPPED, True),
        (not_applicable, Status.SKIPPED, False),
        (unjudged, Status.ERROR, True),
    ],
)
def test_every_finding_but_passed_has_a_remedy(make, status, applies):
    expected = Finding(status=status, reason="why", remedy="do", evidence={"n": 1}, applies=applies)
    assert make("why", "do", n=1) == expected


def test_passed_has_none():
    assert passed("why", n=1) == Finding(status=Status.PASSED, reason="why", evidence={"n": 1})


def test_a_relaxation_is_a_row_with_a_reason():
    recipe = relaxing({"check": "hardened", "because": " a TPU needs it "})
    assert relaxations(recipe) == {"hardened": "a TPU needs it"}


@pytest.mark.parametrize(
    "entry",
    [
        "hardened",
        None,
        {"check": "hardened"},
        {"check": "hardened", "because": None},
        {"check": "hardened", "because": ""},
        {"check": "hardened", "because": " \n"},
        {"check": "hardened", "because": True},
        {"check": None, "because": "x"},
        {"check": 1, "because": "x"},
        *({"check": name, "because": "x"} for name in sorted(VERDICT_ROWS)),
    ],
)
def test_an_entry_without_a_row_or_a_reason_relaxes_nothing(entry):
    assert relaxations(relaxing(entry)) == {}


@pytest.mark.parametrize(
    "recipe", [None, {}, {"checks": None}, {"checks": []}, {"checks": {"relax": "hardened"}}]
)
def test_a_recipe_without_relaxations_has_none(recipe):
    assert relaxations(recipe) == {}
    assert requirements(recipe) == frozenset()


def test_a_requirement_is_the_name_of_a_row():
    assert requirements({"checks": {"require": ("hardened", 1, None)}}) == {"hardened"}


def test_the_rows_that_a_verdict_means_are_these():
    assert {"repeatable", "equals_golden", "unmodified"} == VERDICT_ROWS
