"""Published results next to ours: the triples that are judged, and the page that was written."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    before = set(sys.modules)
    yield importlib.import_module("published_results")
    for name in set(sys.modules) - before:
        if str(ROOT / "benchmarks") in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_every_triple_has_the_published_mean_and_deviation(script):
    for one in script.TABLES:
        found = list(script.triples(one))
        assert found
        assert [triple.mean() for triple in found] == pytest.approx([one.mean] * len(found))
        assert [triple.std() for triple in found] == pytest.approx([one.deviation] * len(found))


def test_no_triple_is_above_what_is_possible(script):
    for one in script.TABLES:
        assert all(triple.max() <= one.most + 0.1 for triple in script.triples(one))


@pytest.mark.parametrize(("shift", "apart"), [(0.0, False), (200.0, True)])
def test_the_gate_tells_results_apart_that_are_far_from_ours(script, monkeypatch, shift, apart):
    one = script.TABLES[0]
    ours = np.linspace(-10, 10, 10) + one.mean - shift
    monkeypatch.setattr(script, "results", lambda *_: ours)
    low, high, visible = script.judged(one)
    assert (high <= script.PLAN.alpha) is apart
    assert low <= high
    assert 0 < visible < 100


def test_ten_seeds_of_each_are_shipped_and_on_the_page(script):
    page = script.PAGE.read_text()
    for one in script.TABLES:
        ours = script.results(one, "training")
        assert len(ours) == 10
        assert (
            f"| {one.name} | {one.mean:.2f} ± {one.deviation:.2f} | {ours.mean():.2f} ± {ours.std():.2f} |"
            in page
        )
