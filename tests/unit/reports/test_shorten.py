"""Drawn reports name what lies in the project from its root, and digests by their beginning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reprokit.core.checklist import CheckResult, Status, Verdict
from reprokit.reports.formats import to_html, to_json, to_junit, to_markdown
from reprokit.reports.shorten import from_root, short_digests

ROOT = "/home/me/study"
DIGEST = "0123456789ab" + "c" * 52


def in_study(report):
    row = CheckResult(
        id="repeatable",
        title="Equal",
        status=Status.FAILED,
        reason=f"{ROOT}/runs/r/T-1: sha256:{DIGEST}",
        remedy=f"see: `reprokit diff {ROOT}/runs/r/T-1 /elsewhere{ROOT}/x`",
        evidence={},
    )
    return replace(
        report,
        runs=(f"{ROOT}/runs/r/T-1",),
        golden=f"{ROOT}/golden/r",
        checks=(row,),
        next_command=f"reprokit diff {ROOT}/golden/r {ROOT}/runs/r/T-1",
    )


def test_paths_in_the_project_are_told_from_its_root_in_every_drawn_file(sample_report):
    report = in_study(sample_report(Verdict.NONDETERMINISTIC))
    for draw in (to_markdown.to_markdown, to_html.to_html, to_junit.to_junit):
        assert ROOT not in draw(report).replace(f"/elsewhere{ROOT}", "")
        assert "reprokit diff golden/r runs/r/T-1" in draw(report)


def test_the_temporary_folder_of_a_bundle_is_in_no_drawn_file_and_one_that_is_kept_is(sample_report):
    report = replace(
        in_study(sample_report(Verdict.NONDETERMINISTIC)), bundle={"file": "b", "sha256": DIGEST}
    )
    golden = "/tmp/reprokit-bundle-x1/golden/r/cpu/seed-1"
    row = replace(report.checks[0], reason=f"equal to {golden}")
    unpacked = replace(report, golden=golden, checks=(row,))
    for draw in (to_markdown.to_markdown, to_html.to_html, to_junit.to_junit):
        assert "equal to golden/r/cpu/seed-1" in draw(unpacked)
        assert "reprokit-bundle" not in draw(unpacked)
    assert from_root(replace(report, golden="/tmp/kept/golden/r/cpu/seed-1")).golden.startswith("/tmp/kept")


def test_report_json_keeps_paths_and_digests_whole(sample_report):
    text = to_json.to_json(in_study(sample_report(Verdict.NONDETERMINISTIC)))
    assert f"{ROOT}/runs/r/T-1" in text
    assert DIGEST in text


def test_a_digest_is_cut_and_other_digits_are_not():
    assert short_digests(f"sha256:{DIGEST}, {DIGEST}") == f"sha256:0123456789ab, {DIGEST}"


@pytest.mark.parametrize("sign", [" ", "="])
def test_a_digest_that_is_to_be_typed_is_whole(sign):
    command = f"reprokit reproduce report.tar.gz --sha256{sign}sha256:{DIGEST}"
    assert short_digests(command) == command


def test_runs_elsewhere_leave_every_path_as_it_is(sample_report):
    report = replace(sample_report(Verdict.NO_GOLDEN), runs=("/r/T-1",), next_command="cat /r/x")
    assert from_root(report).next_command == "cat /r/x"
    assert from_root(replace(report, runs=())).next_command == "cat /r/x"


def test_commands_between_back_quotes_are_code_in_markdown_and_to_be_copied_in_html(sample_report):
    report = in_study(sample_report(Verdict.NONDETERMINISTIC))
    assert "see: `reprokit diff runs/r/T-1 /elsewhere" in to_markdown.to_markdown(report)
    assert '<pre class="command">reprokit diff runs/r/T-1 /elsewhere' in to_html.to_html(report)
