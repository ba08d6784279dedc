"""Where runs first differ in logs that have no steps: the record is named."""

from types import SimpleNamespace

from reprokit.core.comparison import compare_records
from reprokit.reports.pages import across_page, diagnosis_page

FIRST = compare_records([{"loss": 1.0}], [{"loss": 2.0}]).divergence


def test_diagnose_names_the_record():
    found = SimpleNamespace(began=None, divergence=FIRST)
    assert diagnosis_page._first_place(found) == "first differs at record 0, in loss"
    assert list(diagnosis_page._where_they_part(found)) == [
        "  first metric that differs: record 0, loss (1.0 and 2.0)"
    ]


def test_a_comparison_of_two_machines_names_the_record():
    found = SimpleNamespace(verdict="NONDETERMINISTIC", comparison=SimpleNamespace(divergence=FIRST))
    assert "from record 0 on, in loss" in across_page._headline(found)


def test_where_there_are_steps_the_step_is_named():
    steps = [{"step": 7, "loss": 1.0}], [{"step": 7, "loss": 2.0}]
    assert compare_records(*steps).divergence.place == "step 7"
