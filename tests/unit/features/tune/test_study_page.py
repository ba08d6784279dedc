"""The page of a search: every trial in the history and the table, complete ones across the settings."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from reprokit.features.tune import studies
from reprokit.features.tune.pages.study_charts import history, parallel
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


def test_the_history_has_a_dot_for_each_trial_and_the_best_so_far():
    found = history(data())
    assert [dot.kind for dot in found.dots] == ["complete", "fail", "complete", "pruned", "complete"]
    heights = [float(point.split(",")[1]) for point in found.best.split()]
    assert heights == sorted(heights, reverse=False)[::-1] or heights == sorted(heights)
    assert max(heights) == pytest.approx(found.dots[2].y, abs=0.1), "smaller is better here, so it goes down"


def test_across_the_settings_are_the_complete_trials_the_best_on_top():
    found = parallel(data(), {"kind": 0.6, "rate": 0.3, "width": 0.1})
    assert [str(axis.name) for axis in found.axes] == ["kind", "rate", "width", "value"]
    assert [quarter for _, quarter, _ in found.lines] == [2, 1, 0]
    assert str(found.lines[-1][2]) == "trial 2: 1"


def test_a_study_without_a_value_has_no_charts():
    failed = data([trial(0, state=TrialState.FAIL)], best=None)
    assert history(failed) is None
    assert parallel(failed, {}) is None
    assert "No trial is complete." in study_to_html(failed, importance={})


def test_the_page_escapes_what_programs_say_and_is_well_formed():
    page = study_to_html(data(), importance={"rate": 0.9, "width": 0.1})
    assert "crashed: &lt;exit code 1&gt;" in page
    assert "<exit" not in page
    assert page.count("<circle") == len(TRIALS)
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
