"""The script that measures how often the statistical gate is wrong, on few gates."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    path = ROOT / "benchmarks/gate_error_rates.py"
    spec = importlib.util.spec_from_file_location("gate_error_rates", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gates_in_which_nothing_changed_seldom_find_a_difference(script):
    at_looks, num_worse = script.false_alarms("ceiling", 60)
    assert num_worse <= sum(at_looks) <= 12


def test_a_drop_in_every_seed_has_the_margin_as_its_size(script, monkeypatch):
    judged = {}
    monkeypatch.setattr(script, "judge_many", lambda *sides, metrics, **_: judged.update(sides=sides))
    script.at_margin("normal", 4, change="none")
    before = judged["sides"][1]
    script.at_margin("normal", 4, change="every seed")
    assert before - judged["sides"][1] == pytest.approx(np.full(before.shape, 1.5), abs=1e-3)
    script.at_margin("normal", 2_000, change="one seed in five")
    assert np.mean(judged["sides"][1]) == pytest.approx(-1.5, abs=0.1)


def test_a_section_of_the_page_is_replaced_and_nothing_else(script):
    page = script.PAGE.read_text()
    again = script.with_section(page, "margin", ["a table"])
    assert script.with_section(again, "margin", ["a table"]) == again
    assert again.partition("<!-- begin: margin -->")[0] == page.partition("<!-- begin: margin -->")[0]
    assert again.partition("<!-- end: margin -->")[2] == page.partition("<!-- end: margin -->")[2]


def test_a_rate_comes_with_its_exact_interval(script):
    assert script.rate(0, 100) == "0.00 [0.00, 3.62]"
