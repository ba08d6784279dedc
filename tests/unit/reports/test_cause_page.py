"""The section on a cause, in every format: whole, and harmless whatever a program is called."""

import dataclasses
import re

import pytest

from reprokit.core.checklist import Verdict
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
        "left to chance",
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


def test_where_the_cause_is_known_the_page_says_to_mend_it_and_then_to_run_again(report):
    found = dataclasses.replace(report, next_command="reprokit diagnose cartpole_baseline")
    page = to_html(found)
    steps = page[page.index("What to do next") : page.index("</header>")]
    assert "Mend the cause at recipes/trainers/ppo.py:88: seed it from a setting" in steps
    assert f'Then run it again:</p><div class="copied"><pre class="command">{found.rerun}</pre>' in steps
    assert "reprokit diagnose" not in steps


def test_a_cause_that_is_less_than_sure_is_to_be_mended_as_a_probable_one(report):
    (card,) = cause_page(report.cause).cards
    unsure = dataclasses.replace(card, confidence="medium")
    (step,) = after_cause([unsure], again="")
    assert step.words.startswith("Mend the probable cause at recipes/trainers/ppo.py:88: ")
    assert after_cause([dataclasses.replace(card, fix="")], again="reprokit reproduce a") == ()


def test_the_page_says_how_often_runs_differed_and_were_equal_again(report):
    odds = {"pairs": 4, "differ": 3, "repeated": 7, "luck": 0.0076}
    told = "Of 4 comparisons of runs, 3 found a difference"
    again = "with the cause held equal, 7 runs repeated another one"
    assert cause_page({**report.cause, "odds": odds}).odds == f"{told}; {again}, by luck in 0.76 % of answers"
    assert cause_page({**report.cause, "odds": {**odds, "luck": None}}).odds == f"{told}; {again}"
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
    assert "did not occur again in 9 runs of the diagnosis" in page.headline


def test_an_unknown_cause_is_said_to_be_unknown(report):
    found = {**report.cause, "causes": []}
    assert cause_page(found).headline.startswith("cause unknown: no experiment shows one")
    assert "cause unknown" in diagnosis_to_html(found, subject="x", sentence="y")


def test_a_difference_that_did_not_show_again_is_no_cause():
    page = cause_page({"verdict": "REPEATABLE", "causes": []})
    assert (page.tone, page.cards) == ("good", ())
    assert "did not occur again" in page.headline


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
