"""What holds for every row of the checklist, whoever adds one."""

import re
import types
from dataclasses import replace
from pathlib import Path

import pytest

from reprokit import checks
from reprokit.core.checklist import exit_code, judge
from reprokit.core.records import canonical_json
from reprokit.core.verdicts.rows import Finding, Status
from support import planted

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "checks.md"
CHECKS = {check.ID: check for check in checks.discover()}
RED = [(name, fault) for name in planted.FAULTS for fault in planted.FAULTS[name]]
GREEN = [(name, case) for name in planted.GREEN for case in planted.GREEN[name]]


def _assert_well_formed(finding):
    assert isinstance(finding, Finding)
    assert finding.reason
    assert "\n" not in finding.reason
    if finding.applies:
        assert bool(finding.remedy) is (finding.status is not Status.PASSED)
    assert finding.applies or finding.status is Status.SKIPPED
    canonical_json(finding.evidence)


def test_every_row_has_planted_faults_and_no_fault_is_of_a_row_that_is_gone():
    assert set(planted.FAULTS) == set(CHECKS)
    assert all(planted.FAULTS.values())
    assert set(planted.GREEN) | set(planted.CLEAN) <= set(CHECKS)


@pytest.mark.parametrize(("name", "fault"), RED)
def test_a_planted_fault_turns_its_row_red(name, fault):
    clean = planted.CLEAN.get(name, lambda evidence: evidence)(planted.clean())
    finding = CHECKS[name].check(planted.FAULTS[name][fault](clean))
    _assert_well_formed(finding)
    assert finding.status in {Status.FAILED, Status.ERROR}


@pytest.mark.parametrize("name", CHECKS)
def test_no_planted_fault_ends_in_a_good_verdict_under_strict(name):
    clean = planted.CLEAN.get(name, lambda evidence: evidence)(planted.clean(strict=True))
    for fault in planted.FAULTS[name].values():
        evidence = fault(clean)
        verdict = judge(evidence, checks.run_all(evidence), registry=checks.registry())
        assert exit_code(verdict) != 0


@pytest.mark.parametrize("name", CHECKS)
def test_a_clean_case_stays_green(name):
    clean = planted.CLEAN.get(name, lambda evidence: evidence)(planted.clean())
    finding = CHECKS[name].check(clean)
    _assert_well_formed(finding)
    assert finding.status is Status.PASSED


@pytest.mark.parametrize(("name", "case"), GREEN)
def test_an_odd_but_sound_case_stays_green(name, case):
    finding = CHECKS[name].check(planted.GREEN[name][case](planted.clean()))
    _assert_well_formed(finding)
    assert finding.status is Status.PASSED


@pytest.mark.parametrize("name", CHECKS)
def test_no_evidence_at_all_never_passes(name):
    finding = CHECKS[name].check(planted.NOTHING_AT_ALL)
    _assert_well_formed(finding)
    assert finding.status is not Status.PASSED


@pytest.mark.parametrize("name", CHECKS)
def test_runs_without_any_content_never_pass_where_a_row_is_about_runs(name):
    if name in {"expected_declared", "nondeterminism_declared", "verification_available"}:
        evidence = planted.NOTHING_AT_ALL
    else:
        empty = tuple(type(run)(path=run.path, complete=True) for run in planted.clean().runs)
        evidence = replace(
            planted.clean(),
            runs=empty,
            repeats=(),
            trace_repeats=(),
            golden=None,
            sweep=None,
            resume=None,
            varied=None,
        )
    finding = CHECKS[name].check(evidence)
    _assert_well_formed(finding)
    assert finding.status is not Status.PASSED


@pytest.mark.parametrize("name", CHECKS)
def test_a_plain_command_has_a_row_for_everything(name):
    row = next(row for row in checks.run_all(planted.plain()) if row.id == name)
    if CHECKS[name].NEEDS_RECIPE:
        assert (row.status, row.required) == (Status.SKIPPED, False)
    assert row.required is (name in {"repeatable", "logs_complete", "verification_available"})


@pytest.mark.parametrize("name", CHECKS)
def test_a_row_has_an_id_and_a_title_as_reports_print_them(name):
    check = CHECKS[name]
    assert re.fullmatch(r"[a-z][a-z0-9_]*", check.ID)
    assert check.TITLE.strip().rstrip(".") == check.TITLE


def test_a_plain_command_is_judged_by_the_rows_that_need_no_recipe():
    """A row that is added is one of them or not; none of these may fall out."""
    assert {name for name, check in CHECKS.items() if not check.NEEDS_RECIPE} >= {
        "repeatable",
        "trace_equal",
        "hardware_recorded",
        "environment_recorded",
        "logs_complete",
        "verification_available",
        "hardened",
        "source_clean",
    }


def test_the_reference_has_a_line_for_every_row_in_order():
    lines = [
        line.split("|")
        for line in REFERENCE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    table = [
        (row.strip().strip("`"), promise.strip(), counts.strip()) for _, row, promise, _, counts, _ in lines
    ]
    assert [row for row, _, _ in table] == list(CHECKS)
    for row, promise, counts in table:
        assert promise == CHECKS[row].TITLE
        assert counts.split()[0] == ("advisory" if checks.registry()[row] else "required")
    assert all(evidence.strip() for _, _, _, evidence, _, _ in lines)


def test_the_example_in_the_reference_is_a_row_that_works():
    example = REFERENCE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    module = types.ModuleType("metrics_finite")
    exec(compile(example, "metrics_finite.py", "exec"), module.__dict__)  # noqa: S102
    (row,) = checks.run_all(planted.clean(), checks=[module])
    assert (row.id, row.status) == ("metrics_finite", Status.PASSED)
    wild = planted.on_run(1, final_values={"loss": float("nan")})(planted.clean())
    (row,) = checks.run_all(wild, checks=[module])
    assert (row.status, row.reason) == (Status.FAILED, f"{wild.runs[1].path}: loss")


def test_the_rows_stand_in_the_declared_order():
    orders = [check.ORDER for check in CHECKS.values()]
    assert orders == sorted(set(orders))
    assert next(iter(CHECKS)) == "repeatable"
