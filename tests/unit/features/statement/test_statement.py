"""The reproducibility statement: what it says of each verdict, and what it never claims."""

from __future__ import annotations

import dataclasses
import re

import pytest
from click.testing import CliRunner

from reprokit.cli.commands.report import command
from reprokit.core.checklist import CheckResult, Status, Verdict
from reprokit.features.statement.statement import statement_of
from reprokit.features.statement.statement_formats import latex, to_latex, to_markdown
from reprokit.reports.escaping import Visible
from reprokit.reports.formats.to_json import to_json

SHA256 = f"sha256:{'4' * 64}"
BUNDLE = {"file": "theirs.tar.gz", "sha256": f"sha256:{'b' * 64}"}


def drawn(report, form=to_markdown):
    return form(statement_of(report, sha256=SHA256))


@pytest.mark.parametrize(("form", "extension"), [(to_markdown, ".md"), (to_latex, ".tex")])
@pytest.mark.parametrize("verdict", Verdict)
def test_a_statement_is_drawn_as_it_was(file_regression, sample_report, verdict, form, extension):
    file_regression.check(
        drawn(sample_report(verdict), form),
        basename=f"statement-{verdict.lower()}",
        extension=extension,
        encoding="utf-8",
        newline="\n",
    )


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.REPRODUCED, Verdict.REPEATABLE}))
def test_no_other_verdict_claims_a_reproduction(sample_report, verdict):
    assert "It is not claimed that the result was reproduced." in drawn(sample_report(verdict))


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.PASSED}))
def test_every_row_that_did_not_pass_is_said_so_and_answers_no_question_with_yes(sample_report, status):
    report = sample_report(Verdict.REPRODUCED)
    rows = tuple(dataclasses.replace(row, status=status, reason="for this test") for row in report.checks)
    text = drawn(dataclasses.replace(report, checks=rows))
    assert "**Yes**" not in text
    told = text.partition("## What failed" if status is Status.FAILED else "## What was not judged")[2]
    assert told.count("for this test") >= len(rows)


def test_a_question_that_no_row_judges_is_not_judged(sample_report):
    report = dataclasses.replace(sample_report(Verdict.REPRODUCED), checks=())
    answers = re.findall(r"\*\*(.+?)\*\*|\? (Not judged)", drawn(report))
    assert answers
    assert {one for pair in answers for one in pair if one} == {"Not judged"}


def test_one_of_two_rows_is_no_yes(sample_report):
    row = CheckResult(id="several_seeds", title="Several seeds", status=Status.PASSED, reason="5 seeds")
    report = dataclasses.replace(sample_report(Verdict.REPRODUCED), checks=(row,))
    assert "statistics over them made? **Not judged**: 5 seeds" in drawn(report)


def test_what_was_made_from_a_bundle_names_it(sample_report):
    report = dataclasses.replace(sample_report(Verdict.REPRODUCED), bundle=BUNDLE)
    assert f"the bundle theirs.tar.gz, {BUNDLE['sha256']}" in drawn(report).replace("&#46;", ".")
    tex = drawn(report, to_latex).replace("\\allowbreak{}", "")
    assert "bbbbbbbb" * 8 in tex


def structure_of(tex: str) -> list[str]:
    """What is wrong with LaTeX that prints text alone: unbalanced braces, commands that no one meant."""
    problems, depth, open_environments = [], 0, []
    body = tex.partition("\n")[2]  # the comment at the top
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            open_environments.append(name)
        elif not open_environments or open_environments.pop() != name:
            problems.append(f"\\end{{{name}}}")
    known = {
        *("section", "paragraph", "begin", "end", "item", "textbf", "texttt", "allowbreak", "ensuremath"),
        *(
            "textbackslash",
            "textasciitilde",
            "textasciicircum",
            "textless",
            "textgreater",
            "textbar",
            "ldots",
        ),
        *("textquotedbl", "textquotesingle", "textasciigrave", "textendash", "textemdash"),
        *("ldots", "times", "pm", "leq", "geq", "rightarrow"),
    }
    problems += [name for name in re.findall(r"\\([A-Za-z]+)", body) if name not in known]
    plain = re.sub(r"\\[&%$#_{}]|\\[A-Za-z]+\*?", "", body)
    problems += re.findall(r"[&%$#_~^\\]", plain)
    for sign in re.findall(r"[{}]", plain):
        depth += 1 if sign == "{" else -1
        if depth < 0:
            problems.append("}")
    problems += [letter for letter in plain if ord(letter) > 0xFF or (ord(letter) < 32 and letter != "\n")]
    return [*problems, *open_environments, *(["{"] * depth)]


@pytest.mark.parametrize("verdict", Verdict)
def test_the_latex_of_a_statement_is_well_formed(sample_report, verdict):
    assert structure_of(drawn(sample_report(verdict), to_latex)) == []


def test_hostile_text_is_no_latex_and_no_markup(hostile_report):
    assert structure_of(drawn(hostile_report, to_latex)) == []
    outside_code = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", drawn(hostile_report))
    assert "<script" not in outside_code.lower()


@pytest.mark.parametrize(
    "text",
    [
        r"\input{/etc/passwd} \write18{id}",
        "100 % of $x_1^2$ & #3 ~ {a} }{ }",
        "--seed=1 ---x ?` !` ,, << >> '' `` \"quoted\"",
        "Zürich – 中文 … ≤ 3 → 4",
        r"^^5cinput ^^M",
        "[optional] *",
        r"\\[1cm] \% \_",
    ],
)
def test_any_text_is_printed_letter_for_letter(text):
    tex = f"x\n{latex(Visible(text))}"
    assert structure_of(tex) == []
    assert "--" not in tex
    assert "?`" not in tex


def test_a_file_is_written_and_a_folder_is_read(sample_report, tmp_path):
    (tmp_path / "report.json").write_text(to_json(sample_report(Verdict.REPRODUCED)))
    out = tmp_path / "statement.tex"
    done = CliRunner().invoke(command, ["export", str(tmp_path), "--format", "latex", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text().startswith("% Drawn by")
    shown = CliRunner().invoke(command, ["export", str(tmp_path / "report.json")])
    assert shown.output.startswith("# Reproducibility statement")
