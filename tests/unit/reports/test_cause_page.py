"""The section on a cause, in every format: whole, and harmless whatever a program is called."""

import dataclasses
import re

import pytest

from reprokit.core.checklist import CheckResult, Status, Verdict
from reprokit.core.report_parts import CodeChanges, FileChange
from reprokit.errors import ReportError
from reprokit.reports.formats import to_json
from reprokit.reports.formats.to_github import annotation_commands, cause_commands
from reprokit.reports.formats.to_html import diagnosis_to_html, to_html
from reprokit.reports.formats.to_markdown import to_markdown
from reprokit.reports.pages.cause import cause_facts, cause_page
from reprokit.reports.pages.next_steps import after_cause
from reprokit.reports.shorten import below

HOSTILE = "x\x1b[2J\n::error::y<script>alert(1)</script>`|%0A,line=1"


@pytest.fixture
def report(sample_report):
    return sample_report(Verdict.NONDETERMINISTIC)


def test_the_page_names_line_fix_evidence_and_what_was_ruled_out(report):
    text = to_html(report)
    for words in (
        "recipes/trainers/ppo.py:88",
        "seed it from a setting",
        "aten.index_put.default",
        "Ruled out, and how",
        "even where this is left free",
        "there is no GPU here",
        "reprokit diagnose cartpole_baseline --seed 42",
    ):
        assert words in text


def test_a_report_without_one_has_no_section(sample_report):
    assert "<h2>Cause</h2>" not in to_html(sample_report(Verdict.REGRESSION))
    assert cause_facts(cause_page(None)) == ()


def test_the_page_of_a_diagnosis_is_the_reports_section(report):
    page = diagnosis_to_html(
        report.cause, subject="cartpole_baseline", sentence="NONDETERMINISTIC: it differs"
    )
    section = re.search(r"<h2>Cause</h2>.*?</section>", to_html(report), re.DOTALL)[0]
    assert section in page
    assert '<p class="sentence">It differs</p>' in page


@pytest.mark.parametrize("program", ["reprokit", ".venv/bin/reprokit"])
def test_where_the_cause_is_known_the_page_says_to_fix_it_and_then_to_run_again(report, program):
    found = dataclasses.replace(report, next_command=f"{program} diagnose cartpole_baseline")
    page = to_html(found)
    steps = page[page.index("What to do next") : page.index("</header>")]
    assert "Fix the cause at recipes/trainers/ppo.py:88 (" in steps
    assert "): seed it from a setting" in steps
    assert f'Then run it again:</p><div class="copied"><pre class="command">{found.rerun}</pre>' in steps
    assert "reprokit diagnose" not in steps


def _with_a_golden_that_differs(report, *, line):
    """A report of two runs that differ, whose golden differs too; ``line`` is new since the golden."""
    reason = "differs from golden/a/seed-1 from step 8192 on: losses/policy is 0.25, expected 0.5"
    rows = [
        dataclasses.replace(row, status=Status.FAILED, reason=reason) if row.id == "equals_golden" else row
        for row in report.checks
    ]
    diff = (f"@@ -{line - 1},2 +{line - 1},3 @@", " a = 1", "+rng = random()", "-b = 2", " c = 3")
    file = FileChange(path="recipes/trainers/ppo.py", added=1, removed=1, diff=diff)
    changes = CodeChanges(commit="9c1b7e02", files=(file,))
    return dataclasses.replace(report, checks=rows, code_changes=changes, next_command="")


def test_where_the_golden_differs_too_the_page_says_so_and_what_to_do_then(report):
    page = to_html(_with_a_golden_that_differs(report, line=88))
    header = page[: page.index("</header>")]
    assert "Run 1 also differs from golden/a/seed-1 from step 8192 on." in header
    assert "the line is new since the golden): seed it from a setting" in header
    last = header[header.index("If it then still differs from the golden: undo the change or,") :]
    assert "reprokit golden promote cartpole_baseline --reason" in last
    assert "golden promote" not in to_html(report).partition("</header>")[0]


def test_an_old_line_is_not_called_new(report):
    header = to_html(_with_a_golden_that_differs(report, line=40)).partition("</header>")[0]
    assert "Fix the cause at recipes/trainers/ppo.py:88" in header
    assert "new since the golden" not in header


def test_changed_lines_have_the_numbers_of_the_new_file_and_the_guilty_one_is_marked(report):
    page = to_html(_with_a_golden_that_differs(report, line=88))
    assert '<span class="same">   87    a = 1' in page
    assert '<span class="added guilty">   88 ▸ +rng = random()' in page
    assert '<span class="removed">        -b = 2' in page
    assert '<span class="same">   89    c = 3' in page


def test_what_did_not_change_is_said_only_where_it_is_known(report):
    found = _with_a_golden_that_differs(report, line=88)
    known = dataclasses.replace(
        found,
        environment={"source": {"commit": "bcf10016", "dirty": False}},
        environment_diff=[],
        checks=[
            CheckResult(id="unmodified", title="", status=Status.PASSED, reason="no setting was overridden"),
            CheckResult(
                id="environment_compatible",
                title="",
                status=Status.PASSED,
                reason="",
                evidence={"fingerprint": "sha256:1"},
            ),
        ],
    )
    page = to_html(known)
    assert "<dd>bcf10016, without uncommitted changes</dd>" in page
    assert "<dt>packages</dt><dd>unchanged</dd>" in page
    assert "<dt>settings</dt><dd>no file of settings changed, none was overridden</dd>" in page

    (file,) = known.code_changes.files
    recipe = CodeChanges(commit="1", files=(dataclasses.replace(file, path="a/recipe.yaml"),))
    package = {"field": "inside.packages.numpy", "expected": "1", "actual": "2", "can_change_numbers": "yes"}
    for other, gone in (
        ({"code_changes": recipe}, "<dt>settings</dt>"),
        ({"environment_diff": [package]}, "<dt>packages</dt>"),
        ({"checks": [known.checks[0]]}, "<dt>packages</dt>"),
        ({"checks": [known.checks[1]]}, "<dt>settings</dt>"),
    ):
        assert gone not in to_html(dataclasses.replace(known, **other))


def test_the_hint_of_a_failed_row_ends_in_a_command_that_can_be_copied(report):
    command = "reprokit diff runs/a runs/b"
    remedy = f"see where they differ: `{command}`"
    rows = [dataclasses.replace(row, remedy=remedy) for row in report.checks]
    page = to_html(dataclasses.replace(report, checks=rows))
    failed = page.partition(">What failed<")[2].partition("</section>")[0]
    assert f'see where they differ: </p><div class="copied"><pre class="command">{command}</pre>' in failed
    assert page.partition("passed</summary>")[2].count('class="copied"') == 1, "how to run it again"


def test_of_two_runs_neither_is_called_the_expected_one(report):
    section = to_html(report).partition(">First divergence<")[2].partition("<h3>")[0]
    assert "<dt>run 1</dt>" in section
    assert "expected" not in section


def test_a_cause_that_is_less_than_sure_is_to_be_mended_as_a_probable_one(report):
    (card,) = cause_page(report.cause).cards
    unsure = dataclasses.replace(card, confidence="medium")
    (step,) = after_cause([unsure], again="")
    assert step.words.startswith("Fix the probable cause at recipes/trainers/ppo.py:88 (")
    assert after_cause([dataclasses.replace(card, fix="")], again="reprokit reproduce a") == ()


def test_the_page_says_how_often_runs_differed_and_were_equal_again(report):
    odds = {"pairs": 4, "differ": 3, "repeated": 7, "luck": 0.0076}
    told = "3 of 4 comparisons of runs found a difference"
    both = f"Without holding the cause, {told}. With it held, 7 runs were equal to another one"
    assert cause_page({**report.cause, "odds": odds}).odds == f"{both}; chance of that by luck: 0.76 %"
    assert cause_page({**report.cause, "odds": {**odds, "luck": None}}).odds == both
    one = cause_page({**report.cause, "odds": {**odds, "repeated": 1, "luck": None}}).odds
    assert one.endswith("With it held, 1 run was equal to another")
    assert cause_page({**report.cause, "odds": {**odds, "repeated": 0}}).odds == told
    assert cause_page({**report.cause, "odds": None}).odds == ""


def test_lines_whose_values_differ_stand_before_the_others(report):
    taps = [{"file": "a.py", "line": at, "differs": at == 2} for at in (1, 2, 3)]
    assert [row.place for row in cause_page({**report.cause, "taps": taps}).taps] == [
        "a.py:2",
        "a.py:1",
        "a.py:3",
    ]


def test_a_cause_that_is_less_than_sure_is_called_probable(report):
    cause = {**report.cause["causes"][0], "confidence": "medium"}
    assert cause_page({**report.cause, "causes": [cause]}).headline.startswith("probably unseeded_rng at ")
    assert cause_page(report.cause).headline.startswith("unseeded_rng at ")


def test_an_answer_that_nothing_differs_says_in_how_many_runs(report):
    page = cause_page({**report.cause, "verdict": "REPEATABLE", "causes": []})
    assert "no difference occurred in 9 runs of the diagnosis" in page.headline


def test_an_unknown_cause_is_said_to_be_unknown(report):
    found = {**report.cause, "causes": []}
    assert cause_page(found).headline.startswith("cause unknown: no experiment shows one")
    assert "cause unknown" in diagnosis_to_html(found, subject="x", sentence="y")


def test_a_difference_that_did_not_show_again_is_no_cause():
    page = cause_page({"verdict": "REPEATABLE", "causes": []})
    assert (page.tone, page.cards) == ("good", ())
    assert "no difference occurred" in page.headline


def test_a_diagnosis_that_failed_says_why(report):
    failed = dataclasses.replace(report, cause={"problem": "the program did not come to its end"})
    assert "did not come to its end" in to_markdown(failed)
    assert to_json.from_json(to_json.to_json(failed)).cause == failed.cause


def test_every_cause_is_an_error_on_its_own_line(report):
    lines = [one for one in annotation_commands([report]) if "Cause" in one]
    assert [line.partition("::np")[0] for line in lines] == [
        "::error file=recipes/trainers/ppo.py,line=88,title=Cause%3A unseeded_rng"
    ]
    assert cause_commands(report.cause) == tuple(lines)


def test_a_cause_without_a_line_is_annotated_without_a_file():
    (line,) = cause_commands(
        {"verdict": "NONDETERMINISTIC", "causes": [{"category": "environment", "what": "a"}]}
    )
    assert line == "::error title=Cause%3A environment::a"


def test_a_hostile_name_stays_one_command_and_no_markup():
    cause = dict.fromkeys(("category", "file", "function", "what", "fix", "confidence"), HOSTILE)
    found = {"verdict": "NONDETERMINISTIC", "causes": [{**cause, "line": 3}], "known": [HOSTILE]}
    (line,) = cause_commands(found)
    assert "\n" not in line
    assert "\x1b" not in line
    properties = line[2:].partition("::")[0]
    assert properties.count(",line=") == 1
    assert properties.startswith("error file=x")
    page = diagnosis_to_html(found, subject=HOSTILE, sentence=HOSTILE)
    assert page.count("<script") == 1, "its own"
    assert "<script>alert" not in page


def test_paths_are_told_from_the_root(report):
    found = below({"causes": [{"file": "/home/me/project/train.py", "line": 3}]}, "/home/me/project")
    assert found == {"causes": [{"file": "train.py", "line": 3}]}


@pytest.mark.parametrize("wrong", [{"causes": "x"}, {"taps": ["x"]}, {"known": [1]}, {"divergence": "x"}])
def test_a_report_whose_cause_is_of_another_shape_is_refused(report, wrong):
    text = to_json.to_json(dataclasses.replace(report, cause={**report.cause, **wrong}))
    with pytest.raises(ReportError, match="cause"):
        to_json.from_json(text)


def test_the_section_says_where_it_began_before_the_first_metric_that_differs():
    first = {
        "update": 37,
        "event": "update",
        "stream": "gradients",
        "streams": ["gradients", "parameters"],
        "equal_before": "update 36",
        "metric": "loss",
        "step": 40,
    }
    page = cause_page({"verdict": "NONDETERMINISTIC", "divergence": first, "causes": []})
    assert [label for label, _ in page.first] == [
        "update",
        "event",
        "what differs first",
        "all that differs there",
        "still equal just before",
        "first metric that differs",
        "step",
    ]


def test_the_line_stands_among_those_around_it_and_both_values_side_by_side(report):
    lines = ["def f():", "    x = <b>", "    return x"]
    cause = {**report.cause["causes"][0], "line": 88, "around": lines, "around_from": 87}
    tried = [{"what": "the program under equal conditions", "runs": 2, "outcome": "1 <i>different"}]
    found = {**report.cause, "causes": [cause], "tried": tried}

    page = diagnosis_to_html(found, subject="x", sentence="y")

    assert '<span class="same">    87   def f():' in page
    assert '<span class="removed">    88 ▸     x = &lt;b&gt;' in page
    assert '<td data-label="One run">0.5</td><td data-label="The other">0.25</td>' in page
    row = '<tr><th scope="row">2</th><td>the program under equal conditions</td>'
    assert f"{row}<td>1 &lt;i&gt;different</td></tr>" in page
