"""`reprokit stats` of a real sweep over settings: one ranked table, the headline metric first."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from reprokit.cli.output import fitted_lines
from reprokit.core.comparing.metric_names import results_first
from reprokit.errors import UsageError
from reprokit.features.sweeps import statistics_html, statistics_page, stats
from reprokit.project import Project
from support.sweep_program import RECIPE, prepare, swept
from support.terminal import Terminal

COMMAND = 'command=[python, train.py, "{seed}", "{run_dir}", "--long-option=unchanged", "--lr=%s"]'
PROGRAM = """\
import json, random, sys
seed, run_dir, rate = int(sys.argv[1]), sys.argv[2], float(sys.argv[-1].partition("=")[2] or 0)
random.seed(seed)
level = 10 * random.random()
noise = random.Random(f"{seed} {rate}")
with open(f"{run_dir}/log.jsonl", "w") as log:
    for step in range(4):
        level += rate + noise.gauss(0, 0.1)
        value = float("nan") if rate == 7 else level
        log.write(json.dumps({"lr": rate, "loss": -value, "eval/return": value, "step": step}) + "\\n")
"""


@pytest.fixture
def of(repository):
    """The statistics of a sweep over learning rates."""

    def found(*rates, seeds="5", promises="", **asked):
        prepare(repository, program=PROGRAM, recipe=RECIPE + promises)
        values = ",".join(COMMAND.partition("=")[2] % rate for rate in rates)
        answer = swept(repository.root, settings=[f"command={values}"], seeds=seeds)
        return stats.statistics(
            [answer.name],
            project=Project.around(repository.root),
            **{"windows": stats.SHOWN_WINDOWS, **asked},
        )

    return found


def lines(found, **asked):
    return list(statistics_page.page_lines(found, **asked))


def test_the_page_shows_the_table_of_a_terminal_of_80_columns(of, monkeypatch):
    found = of("0.1", "0.3", "0.2")
    monkeypatch.setenv("COLUMNS", "80")
    with contextlib.redirect_stdout(Terminal()):
        said = list(fitted_lines(statistics_page.page_lines(found)))
    table = said[2 : next(at for at, line in enumerate(said) if line.startswith("Difference from the best"))]
    page = (Path(__file__).parents[4] / "docs/reference/stats.md").read_text()
    assert "\n".join(table) in page


def test_the_settings_are_one_table_ranked_by_the_headline_metric(of):
    found = of("0.1", "0.3", "0.2")
    said = lines(found)
    assert said[0] == f"{found.sweep}: 3 settings, 5 seeds (3, 4, 6, 7, 8) each"
    assert said[2] == "eval/return, last: higher is better"
    assert said[3].split("  ")[0] == "rank"
    assert [line.split()[:2] for line in said[4:7]] == [["1", "lr=0.3"], ["2", "lr=0.2"], ["3", "lr=0.1"]]
    assert said[7] == ""
    assert "corrected by Holm's method for 3 comparisons" in "\n".join(said)
    assert not [line for line in said if "train/loss" in line or "unchanged" in line]
    ((one,), at) = found.rankings, 2
    assert one.ranking.differences[at].mean == pytest.approx(-0.4, abs=0.3)
    assert one.ranking.differences[at].corrected > one.ranking.differences[at].p_value


def test_every_metric_of_each_setting_is_there_when_asked_for(of):
    found = of("0.1", "0.3")
    assert [one.metric for one in found.groups[0].metrics] == ["eval/return", "loss", "lr"]
    said = "\n".join(lines(found, verbose=True))
    assert "\nlr=0.1: 5 seeds" in said
    assert "lr=0.3 against lr=0.1" in said
    told = statistics_page.to_data(found)
    assert [row["minus_best"] is None for row in told["rankings"][0]["settings"]] == [True, False]
    assert told["groups"][0]["name"] == f"train {COMMAND % '0.1'}"
    json.dumps(told)


def test_a_loss_is_ranked_from_below_and_a_name_that_says_nothing_is_said(of):
    loss, rate = of("0.1", "0.3", metrics=["l*"]).rankings
    assert (loss.metric, loss.direction, loss.ranking.order) == ("loss", "lower", (1, 0))
    assert (rate.metric, rate.direction) == ("lr", "")


FEWER_STEPS = """
statistical: {metric: eval/return, window: first_step_at_least_1, margin: 1.0, direction: lower}
"""


def test_fewer_steps_to_a_threshold_are_better_of_a_metric_whose_higher_values_are(of):
    found = of("3", "6", metrics=["eval/return"], windows=["first_step_at_least_8"])
    (one,) = found.rankings
    slow, fast = (group.metrics[0].windows[0].summary.mean for group in found.groups)
    assert fast < slow
    assert (one.direction, one.ranking.order) == ("lower", (1, 0))
    assert lines(found)[2] == "eval/return, first_step_at_least_8: fewer steps are better"


def test_the_direction_of_a_promised_first_step_says_nothing_of_the_metrics_values(of):
    (one,) = of("1", "4", promises=FEWER_STEPS).rankings
    assert (one.metric, one.window) == ("eval/return", "last")
    assert (one.direction, one.ranking.order) == ("higher", (1, 0))


def test_a_setting_without_a_mean_is_named_below_and_is_no_row_of_dashes(of):
    said = lines(of("0.1", "7", "0.3"))
    assert [line.split()[:2] for line in said[4:6]] == [["1", "lr=0.3"], ["2", "lr=0.1"]]
    assert any(line.startswith("not ranked: lr=7: 5 of 5 values are not finite") for line in said)
    assert not [line for line in said if set(line.split()[2:]) == {"-"}]


def test_one_seed_is_ranked_without_intervals(of):
    said = lines(of("0.1", "0.3", seeds="3,"))
    assert any("neither interval nor test" in line for line in said)
    assert said[3].split() == [
        "rank",
        "setting",
        "mean",
        "IQM",
        "minus",
        "the",
        "best,",
        "95",
        "%",
        "interval",
    ]


def test_settings_with_equal_results_are_named(of):
    said = lines(of("0.10", "0.1"))
    assert said[1].startswith("Warning: lr=0.10 and lr=0.1 are one number")


@pytest.mark.sample(1)
@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("verbose", [False, True])
def test_nothing_is_cut_and_no_line_is_wider_than_the_terminal(of, monkeypatch, columns, verbose):
    found = of("0.1", "0.3")
    whole = "".join("".join(lines(found, verbose=verbose)).split())
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("COLUMNS", str(columns))
    said = "\n".join(lines(found, verbose=verbose))
    assert max(map(len, said.splitlines())) <= columns
    assert "…" not in said
    if columns == 120 and not verbose:
        assert "".join(said.split()) == whole
    for word in ("lr=0.1", "lr=0.3", "corrected", "exponential"):
        assert word in said


def test_the_page_has_the_ranking_first_and_the_names_by_what_differs(of):
    found = of("0.1", "0.3")
    page = statistics_html.statistics_to_html(found, {})
    assert page.index("minus the best") < page.index("<figure")
    assert "<h2>lr=0.3 against lr=0.1</h2>" in page
    assert ">lr=0.1</text>" in page
    assert "more characte" not in page


def test_a_metric_that_is_not_there_is_refused_with_those_that_are(of):
    with pytest.raises(UsageError, match=r"no metric matches 'retrun'.*the nearest names: 'eval/return'"):
        of("0.1", "0.3", metrics=["retrun"])


def test_the_headline_is_what_a_recipe_promises_else_what_is_called_a_result():
    names = ["lr", "train/loss", "eval/loss", "train/accuracy", "eval/return"]
    assert results_first(names) == ["eval/return", "train/accuracy", "eval/loss", "train/loss", "lr"]
    assert results_first(names, expected=["train/loss"])[0] == "train/loss"
    assert results_first(["lr", "x"], idle={"lr"}) == ["x", "lr"]


@pytest.mark.slow
def test_many_seeds_are_all_named(of):
    said = lines(of("0.1", "0.3", seeds="1..13"))
    assert said[0].endswith("2 settings, 13 seeds (1..13) each")


def test_beside_another_sweep_a_setting_has_its_whole_name(of, repository):
    first = of("0.1", "0.3").sweep
    second = of("0.2", "0.4").sweep
    found = stats.statistics([first, second], project=Project.around(repository.root), windows=["last"])
    assert [one.group.called for one in found.groups] == [
        f"train {COMMAND % rate}" for rate in ("0.1", "0.3", "0.2", "0.4")
    ]
    assert (found.rankings, found.sweep) == ((), "")


def test_the_page_says_at_once_which_setting_is_first_and_by_what(of):
    sentence = sentence_of(statistics_html.statistics_to_html(of("0.1", "0.3"), {}))
    assert re.search(
        r"First by eval/return \(last, higher is better\): lr=0\.3, mean \S+, 95 % interval \[", sentence
    )
    alone = sentence_of(statistics_html.statistics_to_html(of("0.1", "0.3", seeds="3,"), {}))
    assert alone.endswith(
        "First by eval/return (last, higher is better): lr=0.3, mean " + alone.rpartition(" ")[2]
    )


def test_the_page_lists_no_number_that_no_seed_has(of):
    page = statistics_html.statistics_to_html(of("0.1", "0.3"), {})
    assert "<dt>eval/return, last</dt>" in page
    assert "<dt>eval/return, mean_last_10</dt>" not in page
    assert "of the 10 values that it takes" in page


def sentence_of(page):
    return re.search('<p class="sentence">(.*?)</p>', page)[1]
