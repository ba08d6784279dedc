from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest

from reprokit.core.checklist import CheckResult, Report, Status, Verdict
from reprokit.core.report_parts import CodeChanges, FileChange
from reprokit.reports.formats.to_github import SUMMARY_BYTES, annotation_commands, step_summary

Sample = Callable[[Verdict], Report]

_COMMAND = re.compile(r"::(error|warning|notice) (?:file=([^,:]*),line=(\d+),)?title=([^,:]*)::(.*)")


def _with_rows(report: Report, number: int, *, status: Status, required: bool = True) -> Report:
    rows = [
        CheckResult(
            id=f"row_{index}", title=f"Row {index}", status=status, reason="because", required=required
        )
        for index in range(number)
    ]
    return dataclasses.replace(report, checks=tuple(rows))


def _parsed(lines: tuple[str, ...]) -> list[tuple[str, ...]]:
    matches = [_COMMAND.fullmatch(line) for line in lines]
    assert all(matches)
    return [match.groups("") for match in matches if match]


def test_a_good_report_without_open_rows_annotates_nothing(sample_report: Sample) -> None:
    report = _with_rows(sample_report(Verdict.REPRODUCED), 3, status=Status.PASSED)

    assert annotation_commands([report]) == ()


def test_a_regression_is_an_error_on_the_first_line_that_changed_with_both_values(
    sample_report: Sample,
) -> None:
    report = sample_report(Verdict.REGRESSION)
    changes = CodeChanges(
        commit="9c1b7e02",
        files=(
            FileChange(path="data.bin", added=None, removed=0),
            FileChange(path="train.py", added=1, removed=1, diff=("@@ -4,2 +4,2 @@", " a", "-b", "+c")),
        ),
    )
    found = _parsed(annotation_commands([dataclasses.replace(report, code_changes=changes)]))

    assert found[0][:3] == ("error", "train.py", "5")
    assert "(golden)" in found[0][4]
    assert "equals the golden" not in " ".join(one[3] for one in found)


def test_the_verdict_is_an_error_on_the_line_of_the_tolerances_where_no_changed_line_is_known(
    sample_report: Sample,
) -> None:
    report = dataclasses.replace(sample_report(Verdict.REGRESSION), code_changes=None)
    first = _parsed(annotation_commands([report]))[0]

    assert first[:4] == (
        "error",
        "recipes/cartpole_baseline/recipe.yaml",
        "61",
        "REGRESSION%3A cartpole_baseline",
    )


def test_a_metrics_own_tolerance_is_the_better_line(sample_report: Sample) -> None:
    report = dataclasses.replace(
        sample_report(Verdict.REGRESSION),
        code_changes=None,
        recipe_lines={"tolerances.losses/policy_loss": 64, "tolerances": 61},
    )

    assert _parsed(annotation_commands([report]))[0][2] == "64"


def test_a_row_hangs_on_the_setting_that_decides_it(sample_report: Sample) -> None:
    found = _parsed(annotation_commands([sample_report(Verdict.CHECK_FAILED)]))

    (checkpoints,) = [one for one in found if "Checkpoints" in one[3]]
    assert checkpoints[0] == "error"
    assert checkpoints[2] == "48"


def test_advisory_rows_that_failed_warn_and_skipped_ones_are_left_to_the_summary(
    sample_report: Sample,
) -> None:
    told = [
        dataclasses.replace(sample_report(verdict), checks=sample_report(Verdict.REPRODUCED).checks)
        for verdict in (Verdict.REPRODUCED, Verdict.REGRESSION)
    ]
    kinds = [[one[0] for one in _parsed(annotation_commands([report]))] for report in told]

    assert kinds == [["warning"], ["error", "warning"]]


def test_a_plain_command_has_no_file_to_hang_an_annotation_on(sample_report: Sample) -> None:
    report = _with_rows(sample_report(Verdict.REPEATABLE), 1, status=Status.FAILED)

    assert annotation_commands([report]) == ("::error title=FAILED%3A Row 0 (train.py)::because",)


@pytest.mark.parametrize(("num_rows", "num_cut"), [(10, 2), (30, 22)])
def test_at_most_ten_of_a_kind_and_the_last_says_what_was_cut(
    sample_report: Sample, num_rows: int, num_cut: int
) -> None:
    report = _with_rows(sample_report(Verdict.CHECK_FAILED), num_rows, status=Status.FAILED)

    found = _parsed(annotation_commands([report]))

    assert len(found) == 10
    assert found[0][3].startswith("CHECK_FAILED")
    assert found[-1][3] == f"{num_cut} more of this kind"


def test_ten_of_a_kind_need_no_cut(sample_report: Sample) -> None:
    report = _with_rows(sample_report(Verdict.CHECK_FAILED), 9, status=Status.ERROR)

    found = _parsed(annotation_commands([report]))

    assert len(found) == 10
    assert found[-1][3].startswith("ERROR%3A Row 8")


def test_the_limit_of_a_step_holds_for_all_its_reports_and_verdicts_come_first(sample_report: Sample) -> None:
    reports = [_with_rows(sample_report(verdict), 8, status=Status.FAILED) for verdict in Verdict]

    found = _parsed(annotation_commands(reports))

    assert len(found) == 10
    assert sum(one[3].split("%3A")[0] in set(Verdict) for one in found) == 7


def test_hostile_text_stays_one_command_a_line(hostile_report: Report) -> None:
    for line in annotation_commands([hostile_report]):
        assert line.isprintable()
        kind = line.split(" ", 1)[0]
        assert kind in {"::error", "::warning", "::notice"}
        properties = line.split("::", 2)[1].split(" ", 1)[1]
        assert re.fullmatch(r"(file=[^,:]*,line=\d+,)?title=[^,:]*", properties)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_summary_of_one_report_is_whole(sample_report: Sample, verdict: Verdict) -> None:
    text = step_summary([sample_report(verdict)])

    assert text.startswith("## ")
    assert verdict.value in text.splitlines()[0]
    assert "### Checklist" in text
    assert "Cut to stay" not in text


@pytest.mark.parametrize("limit_bytes", [4_000, 20_000, 100_000])
def test_a_summary_stays_within_its_limit_keeps_the_verdicts_and_says_what_was_cut(
    sample_report: Sample, limit_bytes: int
) -> None:
    text = step_summary([sample_report(Verdict.REGRESSION)] * 50, limit_bytes=limit_bytes)

    assert len(text.encode("utf-8")) <= limit_bytes
    assert "REGRESSION: cartpole" in text
    assert f"Cut to stay within GitHub's {limit_bytes:,} bytes" in text
    if limit_bytes >= 100_000:
        assert text.count("REGRESSION: cartpole") == 50
    else:
        assert "whole reports" in text


def test_even_hostile_reports_without_number_fit_githubs_limit(samples, sample_report: Sample) -> None:
    report = samples.with_text(sample_report(Verdict.REGRESSION), "|<é" * 3000)

    text = step_summary([report] * 10)

    assert 100_000 < len(text.encode("utf-8")) <= SUMMARY_BYTES
