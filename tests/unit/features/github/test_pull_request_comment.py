"""The comment on a pull request: what it says, what it never says, and that hostile text stays text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from reprokit.core.checklist import Report, Verdict, exit_code
from reprokit.features.github.collected import Collected
from reprokit.features.github.pull_request_comment import (
    MARKER,
    MAX_CHARACTERS,
    ReportOrigin,
    comment,
    no_answer,
)
from reprokit.reports.comparison_record import ComparisonRecord, ComparisonRow
from reprokit.reports.gate_record import GateRecord, GateRow

ORIGIN = ReportOrigin(
    commit="0123456789abcdef0123456789abcdef01234567",
    url="https://github.com/o/r/actions/runs/7",
    conclusion="failure",
)
Sample = Callable[[Verdict], Report]


def of(*reports: Report, rows: tuple[GateRow, ...] = (), code: int | None = None) -> Collected:
    pairs = [
        (
            GateRow(
                recipe=one.recipe,
                seed=one.seed,
                verdict=one.verdict,
                exit_code=one.exit_code,
                report=f"reports/{number}/report.json",
            ),
            one,
        )
        for number, one in enumerate(reports)
    ]
    pairs += [(row, None) for row in rows]
    graver = [1, 3, 2, 4, 0]
    found = min((row.exit_code for row, _ in pairs), key=graver.index, default=4)
    gate = GateRecord(exit_code=found if code is None else code, recipes=tuple(row for row, _ in pairs))
    return Collected(gate=gate, reports=tuple(pairs))


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_told_and_only_a_good_one_has_a_green_sign(sample_report: Sample, verdict):
    text = comment(of(sample_report(verdict)))
    head = text.splitlines()[1]
    assert text.startswith(MARKER)
    assert verdict.value in head
    assert ("✅" in head) == (exit_code(verdict) == 0)


def test_a_regression_names_divergence_and_a_command_of_ours(sample_report: Sample):
    text = comment(of(sample_report(Verdict.REGRESSION)), origin=ORIGIN)
    assert "| metric | `losses/policy_loss` |" in text
    assert "| step | `43008` |" in text
    assert "reprokit reproduce cartpole_baseline --seed 42" in text
    assert ORIGIN.url in text
    assert ORIGIN.commit in text


def test_the_guilty_line_and_its_fix_are_named(sample_report: Sample):
    card = {
        "category": "unseeded_rng",
        "file": "train.py",
        "line": 12,
        "function": "batch",
        "what": "random.random() is drawn without a seed",
        "fix": "seed it",
        "confidence": "high",
    }
    cause = {"verdict": "NONDETERMINISTIC", "causes": [card], "runs": 5}
    report = dataclasses.replace(sample_report(Verdict.NONDETERMINISTIC), cause=cause)
    text = comment(of(report))
    assert "**Cause:** `unseeded_rng` at `train.py:12`" in text
    assert "**Fix:** `seed it`" in text


def test_commands_of_a_report_are_not_offered(sample_report: Sample):
    evil = dataclasses.replace(
        sample_report(Verdict.REGRESSION),
        next_command="curl example.invalid | sh",
        rerun="curl example.invalid | sh",
        command="curl example.invalid | sh",
    )
    assert "curl" not in comment(of(evil))


@pytest.mark.parametrize("name", ["a; rm -rf ~", "$(x)", "-x", "../x", "a b"])
def test_a_recipe_of_another_form_than_ours_gets_no_command(sample_report: Sample, name):
    report = dataclasses.replace(sample_report(Verdict.REGRESSION), recipe=name)
    assert "reprokit reproduce" not in comment(of(report))


def test_good_reports_of_a_run_that_was_not_green_are_not_believed(sample_report: Sample):
    found = of(sample_report(Verdict.REPRODUCED))
    assert "## ✅" in comment(found, origin=dataclasses.replace(ORIGIN, conclusion="success"))
    for conclusion in ("failure", "cancelled", "timed_out", "skipped", "neutral", "action_required"):
        text = comment(found, origin=dataclasses.replace(ORIGIN, conclusion=conclusion))
        assert "✅ reprokit" not in text
        assert "believe the workflow run" in text


def test_a_gate_that_failed_for_no_recipe_says_so(sample_report: Sample):
    text = comment(of(sample_report(Verdict.REPRODUCED), code=4))
    assert "## ❔" in text
    assert "exit code 4" in text


def test_errors_and_recipes_that_were_left_out_are_told():
    rows = (
        GateRow(recipe="broken", exit_code=2, error="recipe.yaml:3: unknown key"),
        GateRow(recipe="same", exit_code=0, left_out="nothing changed"),
    )
    text = comment(of(rows=rows))
    assert "1 ERROR, 1 left out" in text
    assert "### ❔ ERROR: `broken`\n\n`recipe.yaml:3: unknown key`" in text
    assert "| `same` | left out: `nothing changed` |" in text


def test_it_fits_githubs_limit_and_counts_what_was_cut(samples, sample_report: Sample):
    report = samples.with_text(sample_report(Verdict.REGRESSION), "|<é" * 3000)
    many = [dataclasses.replace(report, seed=seed) for seed in range(300)]
    text = comment(of(*many), origin=ORIGIN)
    assert len(text) <= MAX_CHARACTERS
    assert text.count("### ❌ REGRESSION") >= 1
    assert "more did not pass; their reports are in the artifact" in text
    assert "| and " in text
    assert ORIGIN.url in text


def test_one_report_named_many_times_is_counted_once_and_that_is_said(sample_report: Sample):
    report = sample_report(Verdict.REPRODUCED)
    copies = [
        dataclasses.replace(report, created_at=f"2026-01-01T00:00:{second:02}Z") for second in range(60)
    ]
    text = comment(of(*[report] * 1940, *copies))
    assert text.splitlines()[1].endswith("reprokit: 1 REPRODUCED")
    assert "1,999 of 2,000 rows of the gate repeat another row" in text
    assert text.count("| `cartpole_baseline` |") == 1


def test_reports_of_other_seeds_runs_or_platforms_are_other_results(sample_report: Sample):
    report = sample_report(Verdict.REPRODUCED)
    others = [{"seed": 43}, {"runs": ("runs/a", "runs/b")}, {"platform": "xla-cpu"}]
    text = comment(of(report, *(dataclasses.replace(report, **one) for one in others)))
    assert text.splitlines()[1].endswith("reprokit: 4 REPRODUCED")
    assert "repeat" not in text


def test_a_missing_answer_replaces_an_earlier_one():
    text = no_answer("there is no gate.json @octocat <b>", origin=ORIGIN)
    assert text.startswith(MARKER)
    assert "✅" not in text
    assert "nothing is known about this commit" in text


def leaves(text: str) -> list[tuple[str, str]]:
    """Every piece of a rendered comment, with its kind: only code may hold a report's text."""
    html = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    return [(child.type, child.content) for token in html for child in (token.children or [token])]


def test_hostile_text_is_code_and_nothing_else(hostile_report: Report):
    row = GateRow(recipe=hostile_report.recipe, exit_code=3, error=hostile_report.sentence or "x")
    whole = comment(of(hostile_report, rows=(row,)), origin=ORIGIN)
    harmless = re.sub(r"^(`{3,})text\n.*?\n\1$", "", whole, flags=re.MULTILINE | re.DOTALL)
    harmless = re.sub(r"`[^`\n]*`|<code>[^<]*</code>", "", harmless)
    for trap in ("@", "javascript:", "example.invalid", "<script", "<img", "::error", "##["):
        assert trap not in harmless
    assert harmless.count("](") == 1  # the workflow run's
    assert {tag.lower() for tag in re.findall(r"</?([a-zA-Z]+)", harmless)} <= {
        "details",
        "summary",
        "br",
        "sub",
    }
    assert all(character.isprintable() or character == "\n" for character in whole)
    links = [piece for piece in leaves(whole) if piece[0] == "link_open"]
    assert len(links) == 1
    assert not [piece for piece in leaves(whole) if piece[0] == "image"]


@pytest.mark.parametrize(("code", "sign"), [(0, "⚠️"), (1, "❌")])
def test_numbers_that_moved_are_marked_as_a_failure_only_where_the_gate_failed(
    sample_report: Sample, code, sign
):
    """Whether they may move is the owner's choice, and no cross stands below a gate that passed."""
    row = ComparisonRow(recipe="train", seed=1, answer="different", record=3, sentence="they differ")
    found = dataclasses.replace(
        of(sample_report(Verdict.REPRODUCED), code=code),
        comparisons=ComparisonRecord(against="main", rows=(row,)),
    )
    assert f"- `train` {sign} moved from record 3 on: `they differ`" in comment(found)
