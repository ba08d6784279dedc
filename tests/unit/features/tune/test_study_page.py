"""The page of a search: every trial in the history and the table, complete ones across the settings."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from reprokit.features.tune import studies
from reprokit.features.tune.pages.study_charts import across_settings, history
from reprokit.features.tune.pages.study_page import study_to_html
from reprokit.features.tune.studies import Trial, TrialState
from support.search import definition


def trial(number, value=None, state=TrialState.COMPLETE, rate=1e-3, message="", kind="a"):
    params = {"rate": rate, "width": 8 + number, "kind": kind}
    return Trial(number=number, params=params, state=state, value=value, message=message)


TRIALS = [
    trial(0, 3.0),
    trial(1, state=TrialState.FAIL, message="crashed: <exit code 1>"),
    trial(2, 1.0, rate=1e-2, kind=[1, 2]),
    trial(3, 2.0, state=TrialState.PRUNED),
    trial(4, 5.0, rate=1e-5),
]


def data(trials=TRIALS, best=2):
    asked = definition()
    found = studies.as_data(asked.name, asked.as_data(), trials, best=None)
    return {**found, "best": best}


def test_the_history_has_a_mark_for_each_trial_and_the_best_so_far():
    found = history(data())
    kinds = [(mark.shape, mark.kind) for mark in found.marks]
    complete, failed, pruned = ("dot", "run-0"), ("cross", "run-1"), ("dot", "run-4")
    assert kinds == [complete, failed, complete, pruned, complete]
    heights = [float(point.split(",")[1]) for point in found.lines[0].pieces[0].split()]
    assert heights == sorted(heights), "smaller is better here, so it goes down"
    assert max(heights) == pytest.approx(found.marks[2].y, abs=0.1)
    assert [str(entry.label) for entry in found.legend] == [
        "best so far",
        "complete",
        "without a value",
        "pruned",
    ]


def test_the_numbers_behind_the_history_are_those_of_the_trials():
    lines = json.loads(history(data()).data)["lines"]
    assert [(line["label"], line["steps"]) for line in lines] == [
        ("best so far", "0 1 1 1 1"),
        ("complete", "0 2 2"),
        ("without a value", "1"),
        ("pruned", "3"),
    ]


def test_across_the_settings_are_the_complete_trials_the_best_on_top():
    found = across_settings(data(), {"kind": 0.6, "rate": 0.3, "width": 0.1})
    assert [str(axis.name) for axis in found.axes] == ["kind", "rate", "width", "loss"]
    assert [line.shade for line in found.lines] == ["faint", "run-4", "run-0"]
    assert str(found.lines[-1].told) == "trial 2: 1; kind = [1, 2], rate = 0.01, width = 10"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"kind": "b"}, 'kind = "b" is not in the space of the search'),
        ({"rate": 0.0}, "rate = 0.0 is not in the space of the search"),
        ({"rate": "<i>"}, 'rate = "<i>" is not in the space of the search'),
        ({"width": 65}, "width = 65 is not in the space of the search"),
        ({"width": None}, "width = null is not in the space of the search"),
    ],
)
def test_a_trial_that_its_space_cannot_have_made_is_named_and_the_others_are_drawn(changed, why):
    study = data()
    study["trials"][2]["params"].update(changed)
    found = across_settings(study, {})
    assert [str(note) for note in found.notes] == [f"Trial 2 is not drawn: {why}."]
    assert len(found.lines) == 2
    assert study_to_html(study, importance={}).count('class="member') == 2


def test_a_trial_without_a_setting_or_a_value_is_named_too():
    study = data()
    del study["trials"][0]["params"]["kind"]
    study["trials"][4]["value"] = None
    assert [str(note) for note in across_settings(study, {}).notes] == [
        "Trial 0 is not drawn: it has no kind.",
        "Trial 4 is not drawn: it is complete and has no value.",
    ]


def test_a_study_without_a_value_has_no_charts():
    failed = data([trial(0, state=TrialState.FAIL)], best=None)
    assert history(failed) is None
    assert across_settings(failed, {}) is None
    assert "No trial is complete." in study_to_html(failed, importance={})


def test_the_page_escapes_what_programs_say_and_is_well_formed():
    page = study_to_html(data(), importance={"rate": 0.9, "width": 0.1})
    assert "crashed: &lt;exit code 1&gt;" in page
    assert "<exit" not in page
    assert page.count('r="3.2"') == len(TRIALS) - 1
    assert page.count('class="cross') == 1
    assert unclosed(page) == []


def unclosed(page: str) -> list[str]:
    """Elements that are begun and not ended where they should be."""
    found = _Balance()
    found.feed(page)
    return found.open


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
